"""The run's events as this launcher has noted them while it led, in memory, for the page that it serves.

No line of a log is kept. Of what never ends there is as much as a page can show: of phases the newest, and of
progress ever less the older it is.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable
from datetime import datetime

from launcher.pod.gang.store.event_file import event_line, wall_clock

PROGRESS_LINES, PHASE_LINES = 2000, 2000
OTHER_LINES, OTHER_BYTES = 500, 1 << 20  # a generation of a thousand members is a tenth of that
_Numbered = tuple[int, bytes]


class RecentEvents:
    """What was noted of late, on its way to where it is written; the main thread puts, any thread reads."""

    def __init__(
        self, onward: Callable[..., None] = lambda *_, **__: None, *, clock: Callable[[], datetime] = wall_clock
    ) -> None:
        self._onward = onward
        self._clock = clock
        self._lock = threading.Lock()
        self._number = 0
        self._progress: list[tuple[Hashable, _Numbered]] = []  # by trainer
        self._phases: deque[_Numbered] = deque(maxlen=PHASE_LINES)
        self._others: deque[_Numbered] = deque()
        self._bytes = 0  # of the others

    def put(self, event: str, **facts: object) -> None:
        """Keep an event, and hand it on."""
        self._onward(event, **facts)
        shown = {name: fact for name, fact in facts.items() if name != "tail"}
        line = event_line(self._clock(), event, shown)
        with self._lock:
            self._number += 1
            numbered = (self._number, line)
            if event == "progress":
                self._progress.append(((facts.get("role"), facts.get("rank")), numbered))
                if len(self._progress) > PROGRESS_LINES:
                    self._thin()
            elif event == "phase":
                self._phases.append(numbered)
            else:
                self._keep(numbered)

    def lines(self) -> tuple[bytes, ...]:
        """Return those that are kept, in their order."""
        with self._lock:
            kept = [*self._others, *self._phases, *(numbered for _, numbered in self._progress)]
        return tuple(line for _, line in sorted(kept))

    def _keep(self, numbered: _Numbered) -> None:
        self._others.append(numbered)
        self._bytes += len(numbered[1])
        while len(self._others) > OTHER_LINES or self._bytes > OTHER_BYTES:
            self._bytes -= len(self._others.popleft()[1])

    def _thin(self) -> None:
        """Leave out every second line of each trainer."""
        seen: Counter[Hashable] = Counter()
        kept = []
        for each in self._progress:
            seen[each[0]] += 1
            if seen[each[0]] % 2:
                kept.append(each)
        self._progress = kept
