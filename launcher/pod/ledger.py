"""What became of each second of a launcher's life, from its process's start: each is one of `contract.Spent`.

No I/O here. Whole milliseconds, so that the sum of all is the time that has passed, and not about that. Those of a
training are open until it is known after which pass a later start goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from launcher.contract import Spent
from launcher.pod.gang.protocol.state import ChildrenState
from launcher.pod.programs.policy import Instructions
from launcher.pod.settings.nouns import Role

INSIDE = (Spent.SAVING, Spent.BARRIER)  # what a program tells of its training's seconds
_MARKS = 100  # passes that are remembered: passes on the volume may lag behind those that are trained


@dataclass(frozen=True, slots=True, kw_only=True)
class PassMark:
    """When the program came to a pass, and how much of its training was open then."""

    number: int
    at: int
    open: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTraining:
    """The training of a generation here: what is open, from when to when, and how much was at each pass."""

    resume: int | None = None
    open: int = 0
    first: int = 0
    last: int = 0
    inside: Mapping[str, int] = field(default_factory=dict)  # of what its program tells, that which is counted
    marks: tuple[PassMark, ...] = ()

    def came_to(self, number: int, now: int) -> Self:
        """Note that the program has come to a pass, where it was not in a later one."""
        if self.marks and number <= self.marks[-1].number:
            return self
        mark = PassMark(number=number, at=now, open=self.open)
        return replace(self, marks=(*self.marks, mark)[-_MARKS:])

    def open_at(self, number: int | None, complete: int | None) -> int:
        """Return how much was open when a pass was complete, nothing where it was complete before this training.

        `complete` is when the volume has it, by this launcher's clock; the program's own way from pass to pass bounds
        that, since a volume has a clock of its own.
        """
        if number is None or (self.resume is not None and number <= self.resume):
            return 0
        low = max((mark.open for mark in self.marks if mark.number < number), default=0)
        high = min((mark.open for mark in self.marks if mark.number > number), default=self.open)
        if complete is not None:
            return min(high, max(low, self._open_by(complete)))
        later = self.marks and self.marks[-1].number > number
        return high if later else max((mark.open for mark in self.marks if mark.number == number), default=0)

    def _open_by(self, when: int) -> int:
        """Return how much was open at a time, as if it had grown evenly from each pass to the next."""
        begin = PassMark(number=0, at=self.first, open=0)
        for end in (*self.marks, PassMark(number=0, at=self.last, open=self.open)):
            if when <= end.at:
                passed = max(0, when - begin.at)
                return begin.open + (end.open - begin.open) * passed // max(1, end.at - begin.at)
            begin = end
        return self.open


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """All milliseconds until `at`, and what the ones after it are."""

    begun: int
    at: int
    doing: str = Spent.STARTING
    counted: Mapping[str, int] = field(default_factory=dict)
    training: OpenTraining = field(default_factory=OpenTraining)

    @classmethod
    def since(cls, begun: int) -> Self:
        """Return that of a process that begins to start."""
        return cls(begun=begun, at=begun)

    def until(self, now: int, told: Mapping[str, int] | None = None) -> Self:
        """Count what has passed; of a training `told` says how much so far was saving and waiting for others."""
        passed = now - self.at
        if passed <= 0:
            return self
        if self.doing != Spent.OPEN:
            return replace(self, at=now, counted=_more(self.counted, {self.doing: passed}))
        mine, taken = self.training, dict[str, int]()
        for state in INSIDE:
            new = (told or {}).get(state, 0) - mine.inside.get(state, 0)
            taken[state] = min(max(0, new), passed - sum(taken.values()))
        rest = passed - sum(taken.values())
        first = mine.first if mine.last else self.at
        training = replace(mine, open=mine.open + rest, first=first, last=now, inside=_more(mine.inside, taken))
        return replace(self, at=now, counted=_more(self.counted, taken), training=training)

    def turned(self, now: int, doing: str, told: Mapping[str, int] | None = None) -> Self:
        """Count until now; from then on it is something else."""
        return replace(self.until(now, told), doing=doing)

    def came_to(self, number: int | None) -> Self:
        """Note that the program has come to a pass."""
        after = self.training if number is None else self.training.came_to(number, self.at)
        return self if after is self.training else replace(self, training=after)

    def decided(self, kept: int, resume: int | None = None) -> Self:
        """Decide what is open: so much is kept, all after it lost. The next training goes on after a pass."""
        kept = min(self.training.open, max(0, kept))
        more = {Spent.KEPT: kept, Spent.LOST: self.training.open - kept}
        return replace(self, counted=_more(self.counted, more), training=OpenTraining(resume=resume))

    @property
    def milliseconds(self) -> Mapping[str, int]:
        """How many there are of each, of the open ones too; their sum is `at - begun`."""
        return _more(self.counted, {Spent.OPEN: self.training.open})


def _more(counted: Mapping[str, int], more: Mapping[str, int]) -> Mapping[str, int]:
    return {**counted, **{state: counted.get(state, 0) + ms for state, ms in more.items() if ms}}


def seconds_of(ledger: Ledger) -> Mapping[str, float]:
    """Return the seconds of each state that there was, as they are told."""
    return {state: ms / 1000 for state, ms in ledger.milliseconds.items()}


def inside_of(before: Sequence[Mapping[str, float]], after: Sequence[Mapping[str, float]]) -> Mapping[str, int]:
    """Return how long a pod's trainers saved and waited in between; a second of one is none while another trains."""
    pairs = list(zip(before, after, strict=True))
    return {
        state: int(min((its.get(state, 0.0) - former.get(state, 0.0) for former, its in pairs), default=0.0) * 1000)
        for state in INSIDE
    }


def doing_with(children: ChildrenState, instructions: Instructions) -> str:
    """Return what a launcher's seconds are while it has a generation's programs, or is about to start them."""
    told = children.told and not instructions.window  # else its programs go on for a while
    if instructions.cause or children.failure or told:
        return Spent.LEAVING
    if Role.TRAINER in instructions.run:
        if children.trainers and children.trained:
            return Spent.WAITING
        return Spent.OPEN if children.begun else Spent.STARTING
    starts = Role.PSERVER in instructions.run and not children.serving
    return Spent.STARTING if starts else Spent.WAITING
