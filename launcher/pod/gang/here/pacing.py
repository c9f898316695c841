"""How fast a trainer goes, from what its programs report, and what its time goes into beside its steps.

No I/O here. A program that calls `here.step` counts its own steps and seconds; of one that only calls `here.progress`
the pass and the step are counted, and all of its time but waits and savings is its work.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from launcher import contract
from launcher.pod.gang.here.requests import Report, Stepping
from launcher.pod.gang.protocol.messages import Pace

COMPUTE = "compute"  # a step's phase in which the next step is waited for
SAVINGS = ("saving", "save")  # the phase of `here.saving`, and one of a step
ASIDE = "aside"  # another phase
# A wait during which so many reports have told of new steps is that of a thread which only listens. One of them may
# be that of the step before the wait, a moment late.
LISTENING = 2
PROCESSES = 64  # of one trainer, whose steps are told from each other


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """The steps of one trainer in one generation; `moves` is how many reports had new ones.

    `own` is the time of its own work when its first report came; `waits` has how many moves each wait has seen begin.
    """

    steps: int = 0
    busy: float = 0.0
    phase: str = ""
    lasts: bool = False
    known: bool = False
    moves: int = 0
    place: tuple[object, object] | None = None
    own: float | None = None
    processes: Mapping[int, tuple[int, float]] = field(default_factory=dict)
    waits: Mapping[Hashable, int] = field(default_factory=dict)

    @property
    def pace(self) -> Pace | None:
        """What is published of it; nothing while it reports no steps."""
        if not self.known:
            return None
        return Pace(steps=self.steps, busy=round(self.busy, 6), phase=self.phase, counted=not self.processes)

    @property
    def doing(self) -> str:
        """What its time goes into that is no step's; nothing while it works."""
        if self.phase in SAVINGS and self.lasts:
            return contract.Spent.SAVING
        if any(self.moves - begun < LISTENING for begun in self.waits.values()):
            return contract.Spent.BARRIER
        return ASIDE if self.lasts and self.phase not in ("", COMPUTE) else ""

    def waiting(self, callers: Iterable[Hashable]) -> Pacing:
        """Return it with who waits now."""
        waits = {caller: self.waits.get(caller, self.moves) for caller in callers}
        return self if waits == self.waits else replace(self, waits=waits)

    def reported(self, report: Report, own: float) -> Pacing:
        """Return it after a report; `own` is the time so far that went into nothing else."""
        stepping = self._stepping(report.stepping) if report.stepping else self
        return stepping if stepping.processes else stepping._counted(report, own)

    def _stepping(self, told: Stepping) -> Pacing:
        now = replace(self, phase=told.phase, lasts=told.lasts, known=True)
        if not told.steps and told.process not in self.processes:
            return now  # it only saves, as far as it is known
        steps, busy = self.processes.get(told.process, (0, 0.0))
        if told.steps < steps:  # another process of the same number
            steps, busy = 0, 0.0
        processes = dict(list({**self.processes, told.process: (told.steps, told.busy)}.items())[-PROCESSES:])
        return replace(
            now,
            steps=self.steps + told.steps - steps,
            busy=self.busy + max(0.0, told.busy - busy),
            moves=self.moves + (told.steps > steps),
            processes=processes,
        )

    def _counted(self, report: Report, own: float) -> Pacing:
        """Count what changed as steps: the difference where only the step grew, else one."""
        place = report.facts.get("pass"), report.facts.get("step")
        if place == (None, None) or place == self.place:
            return self
        if self.place is None or self.own is None:
            return replace(self, place=place, own=own, known=True)
        steps = self.steps + _between(self.place, place)
        return replace(self, place=place, steps=steps, busy=own - self.own, moves=self.moves + 1)


def _between(before: tuple[object, object], after: tuple[object, object]) -> int:
    first, last = before[1], after[1]
    if before[0] == after[0] and isinstance(first, int | float) and isinstance(last, int | float):
        return max(int(last - first), 1)
    return 1
