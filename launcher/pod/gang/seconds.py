"""Counts this launcher's own seconds: its ledger, with a clock, what its trainers tell, and what the volume has.

The main thread writes; any thread may read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from launcher.contract import Spent
from launcher.pod.gang.here.service import HereService
from launcher.pod.ledger import Ledger, inside_of, seconds_of
from launcher.pod.programs.processes import own_age

_SECOND = 1000


class Seconds:
    """The ledger of one process."""

    def __init__(
        self,
        heres: Sequence[HereService],
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        age: Callable[[], float] = own_age,
    ) -> None:
        """Begin with the start of this process: its interpreter's start counts, too."""
        self._heres = heres
        self._clock = clock
        self._wall_clock = wall_clock
        self._ledger = Ledger.since(self._now - int(age() * _SECOND))
        self._before = self._spent  # when the last training began
        self._told: tuple[Ledger, int, Mapping[str, float]] = (self._ledger, 0, {})

    def are(self, doing: str) -> None:
        """Say what they are from now on."""
        if doing != self._ledger.doing:
            self._before = self._spent if doing == Spent.OPEN else self._before
            self._ledger = self._ledger.turned(self._now, doing, self._inside)

    @contextmanager
    def staging(self) -> Iterator[None]:
        """Say that they are those of staging, for as long as it takes; then it waits for the others."""
        self.are(Spent.STAGING)
        try:
            yield
        finally:
            self.are(Spent.WAITING)

    def came_to(self, number: int | None) -> None:
        """Note that the trainers here have come to a pass."""
        marks = self._ledger.training.marks
        if number is not None and (not marks or number > marks[-1].number):
            self._ledger = self._ledger.until(self._now, self._inside).came_to(number)

    def go_on(self, resume: int | None, saved: Mapping[int, float]) -> None:
        """Decide those of the last training: the next goes on after a pass; `saved` has when passes were."""
        self._ledger = self._ledger.decided(self._kept(resume, saved), resume)

    def judged(self, *, well: bool, saved: Mapping[int, float]) -> None:
        """Decide those of the last training: all are kept where all is done, else those up to the newest pass."""
        if well:
            self.are(Spent.LEAVING)
        kept = self._ledger.training.open if well else self._kept(max(saved, default=None), saved)
        self._ledger = self._ledger.decided(kept)

    @property
    def undecided(self) -> bool:
        """Whether there are any of a training that was not decided yet."""
        return self._ledger.training.open > 0

    @property
    def exact(self) -> Mapping[str, float]:
        """They at this moment."""
        return seconds_of(self._ledger.until(self._now, self._inside))

    @property
    def told(self) -> Mapping[str, float]:
        """They at the last full second, or at the last turn: a thousand who ask at once are told the same."""
        ledger = self._ledger
        at = max(ledger.at, self._now // _SECOND * _SECOND)
        former, then, seconds = self._told
        if former is not ledger or then != at:
            seconds = seconds_of(ledger.until(at, self._inside))
            self._told = (ledger, at, seconds)
        return seconds

    @property
    def _now(self) -> int:
        return int(self._clock() * _SECOND)

    @property
    def _inside(self) -> Mapping[str, int]:
        return inside_of(self._before, self._spent) if self._ledger.doing == Spent.OPEN else {}

    @property
    def _spent(self) -> Sequence[Mapping[str, float]]:
        now = self._clock()
        return [here.spent(now) for here in self._heres]

    def _kept(self, number: int | None, saved: Mapping[int, float]) -> int:
        at = saved.get(number) if number is not None else None
        complete = None if at is None else self._now - int((self._wall_clock() - at) * _SECOND)
        return self._ledger.training.open_at(number, complete)
