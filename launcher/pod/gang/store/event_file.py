"""The gang's story on the volume: one JSON line an event, appended to `output/events.jsonl`.

On a thread of its own behind a bounded queue: trouble with the file stops nothing. Lines wait for the volume as
long as there is room for them; what is lost is counted and told.
"""

from __future__ import annotations

import errno
import json
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from launcher.contract import EVENTS
from launcher.pod.gang.store.record import RecordError
from launcher.pod.log import Tell, TroubleTold
from launcher.safefs.dirs import APPEND, Below, opened

_LIMIT = 1000  # lines that wait
LONGEST_EVENT = 1 << 20
_HEAD = 64  # bytes, with the time of a line
_FIRST = re.compile(rb'\{"at": "([0-9T:.Z+-]{10,40})"')  # a line's beginning
# Read as well: what an earlier leader left half must not spoil the next line.
APPEND_AND_READ = (APPEND ^ os.O_WRONLY) | os.O_RDWR


def wall_clock() -> datetime:
    """Return the time of day, with its zone: UTC."""
    return datetime.now(UTC)


class EventFile:
    """Queues events at once, and writes them as soon as the volume takes them."""

    def __init__(
        self,
        output: Below | None,
        tell: Tell,
        *,
        limit: int = _LIMIT,
        clock: Callable[[], datetime] = wall_clock,
        write: Callable[[int, bytes], int] = os.write,
    ) -> None:
        """Start the thread; without an output no event is kept."""
        self._output = output
        self._tell = tell
        self._limit = limit
        self._clock = clock
        self._write = write
        self._lines: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._asked = False
        self._tried = True  # nothing waits that was not tried to be written
        self._over = False
        self._trouble = TroubleTold(tell, "events_file_trouble", "events_file_back", path=self._path)
        self.lost = 0
        self._begun: datetime | None = None  # the time of its first line
        if output:
            threading.Thread(target=self._serve, args=(output,), name="event file", daemon=True).start()

    def put(self, event: str, **facts: object) -> None:
        """Queue an event with the time of now; never wait."""
        if self._output is None:
            return
        line = event_line(self._clock(), event, facts)
        with self._changed:
            if len(self._lines) >= self._limit or len(line) > LONGEST_EVENT:
                self.lost += 1
            else:
                self._lines.append(line)
            if not self._over:
                self._ask()

    @property
    def age(self) -> float:
        """The seconds since the file's first line, 0 until the volume has told of it."""
        return max(0.0, (self._clock() - self._begun).total_seconds()) if self._begun else 0.0

    def close(self, until: float) -> bool:
        """Wait until all is written, at most until the monotonic clock passes `until`; tell what is missing."""
        with self._changed:
            if self._output and not self._over:
                self._ask()
            self._over = True
            self._changed.wait_for(lambda: self._tried, max(0.0, until - time.monotonic()))
            missing = self.lost + len(self._lines)
        if missing:
            self._tell("events_file_incomplete", path=self._path, events_lost=missing)
        return not missing

    @property
    def _path(self) -> str:
        return f"{self._output.path if self._output else ''}/{EVENTS}"

    def _ask(self) -> None:
        self._asked, self._tried = True, False
        self._changed.notify_all()

    def _serve(self, output: Below) -> None:
        while True:
            with self._changed:
                self._tried = not self._asked
                self._changed.notify_all()
                if self._tried and self._over:
                    return
                self._changed.wait_for(lambda: self._asked)
                self._asked = False
                waiting = tuple(self._lines)
            self._append(output, waiting)

    def _append(self, output: Below, lines: Sequence[bytes]) -> None:
        if not lines:
            return
        try:
            with output.opened(make=True) as at, opened(at, EVENTS, APPEND_AND_READ, mode=0o644) as fd:
                self._write_all(fd, lines)
        except RecordError as error:
            self._trouble.tell(str(error))
        else:
            self._trouble.over(events_lost=self.lost)

    def _write_all(self, fd: int, lines: Sequence[bytes]) -> None:
        size = os.fstat(fd).st_size
        self._begun = self._begun or time_of_first(os.pread(fd, _HEAD, 0)) or self._clock()
        if size and os.pread(fd, 1, size - 1) != b"\n":
            self._write(fd, b"\n")
        written = 0
        try:
            for line in lines:
                if self._write(fd, line) < len(line):
                    raise OSError(errno.ENOSPC, "it took only half a line")
                written += 1
        finally:
            os.fsync(fd)  # a network volume may tell only now that it took nothing; rather a line twice than never
            with self._changed:
                for _ in range(written):
                    self._lines.popleft()


def time_of_first(head: bytes) -> datetime | None:
    """Return when the first of a file's lines was written, from its beginning."""
    found = _FIRST.match(head)
    with suppress(ValueError):
        at = datetime.fromisoformat(found[1].decode()) if found else None
        return at and (at if at.tzinfo else at.replace(tzinfo=UTC))
    return None


def event_line(at: datetime, event: str, facts: dict[str, object]) -> bytes:
    """Return an event as its line; a number that JSON does not know becomes its name."""
    stamp = at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    text = json.dumps({"at": stamp, "event": event} | facts, default=str, skipkeys=True)
    if "NaN" in text or "Infinity" in text:
        text = json.dumps(json.loads(text, parse_constant=str))
    return text.encode() + b"\n"
