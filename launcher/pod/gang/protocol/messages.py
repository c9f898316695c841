"""The nouns of a gang: what each launcher says of itself, and what the leader says to all.

No I/O here. Everything here is published, and anybody on the pod network may read it: no environment, no argv.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from launcher import contract
from launcher.pod.outcome import Outcome
from launcher.pod.settings.nouns import Role


class Phase(StrEnum):
    """How far a pod has come."""

    JOINING = contract.JOINING
    STAGING = contract.STAGING
    SERVING = contract.SERVING
    TRAINING = contract.TRAINING
    TRAINED = contract.TRAINED
    DONE = contract.DONE
    FAILED = contract.FAILED
    STOPPED = contract.STOPPED


class Stage(StrEnum):
    """How far a generation has come, by its leader's word."""

    GATHERING = contract.GATHERING  # none runs: waiting until all are there, have their data, and no children
    READYING = contract.READYING  # it is made: waiting until every member says that it is ready for it
    SERVING = contract.SERVING  # pservers start
    TRAINING = contract.TRAINING  # trainers start
    CHECKING = contract.CHECKING  # every trainer is done: each pserver is looked at once more
    OVER = contract.OVER  # there is a verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """A member: one process of one pod. A pod that starts its launcher again is another member."""

    role: Role
    address: str
    uid: str
    boot: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure(Outcome):
    """What went wrong first: the outcome, in which generation (0: before any), at which member.

    `told` says that nothing went wrong: a launcher was told to stop, which spends no restart.
    """

    generation: int
    address: str = ""
    told: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One start of the whole gang: its members in rank order, the pass to go on from, and what came before."""

    number: int
    members: tuple[Who, ...]
    digest: str
    resume: int | None = None
    restarts: int = 0
    cause: str = ""

    @property
    def heading(self) -> str:
        """The line that stands between this start and an earlier one in each log."""
        if self.number == 1 and self.resume is None:
            return ""
        begins = "from the beginning" if self.resume is None else f"after pass {self.resume}"
        return f"==== generation {self.number}, {begins}: {self.cause or 'a new run'} ===="


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedRun:
    """A run of a job's name: its number among them, whose it is, and the time-out that its members live by."""

    number: int
    key: str
    namespace: str
    peer_timeout: float

    def __str__(self) -> str:
        """Return its name for people."""
        where = f", namespace {self.namespace}" if self.namespace else ""
        return (
            f"run {self.number} of this name (key {self.key}{where})" if self.number else f"the run of key {self.key}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderMessage:
    """What the leader says to all: the `word` of its status."""

    stage: Stage = Stage.GATHERING
    generation: Generation | None = None
    cause: Failure | None = None
    verdict: Outcome | None = None  # how it ended for all
    waiting: str = ""
    calm: bool = False  # while gathering: no program runs any more, so that no pass is being written
    boots: tuple[str, ...] = ()  # with the verdict: for which members, where no key tells this run from another
    passed: tuple[str, ...] = ()
    shared: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """The number of the generation that it is about."""
        return self.generation.number if self.generation else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What a trainer said to its launcher: the barriers that it waits at, what it shares, how far it is."""

    at: tuple[str, ...] = ()
    shared: Mapping[str, str] = field(default_factory=dict)
    progress: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What a trainer waits for without a timeout: all at a barrier, or the value of one rank, or of any."""

    name: str
    value: bool = False  # the key of a value, not a barrier
    rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    """What one of a pod's trainers said and waits for; `trained` names the generation in which it is done."""

    marks: Marks = field(default_factory=Marks)
    at_pass: int | None = None  # of its progress: a new pass is news, a step is not
    waits: tuple[Wait, ...] = ()  # it has done nothing else for a lease
    trained: int = 0

    @classmethod
    def saying(cls, marks: Marks, waits: tuple[Wait, ...], trained: int) -> Self:
        """Return one, with the pass that is in its report."""
        at = marks.progress.get("pass")
        at_pass = int(at) if isinstance(at, int | float) else None
        return cls(marks=marks, at_pass=at_pass, waits=waits, trained=trained)


# A field that launchers before this one do not send: it is left out where it is empty, and need not be there.
ADDED = {"added": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What a launcher says of itself. Numbers name generations; 0 is none."""

    who: Who
    key: str = ""
    gang: str = ""  # its name
    peers: str = ""  # a digest of where its peers are looked for
    peer_timeout: float = 0.0
    phase: Phase = Phase.JOINING
    rank: int | None = None
    digest: str = ""  # of the order that it knows; empty while a member is missing
    staged: bool = False  # its data for that order is there
    surveyed: bool = False  # and it has looked at the complete passes since the last program ended
    quiet: bool = True  # no program of an earlier generation can still be running, as far as it knows
    lone: bool = False  # it is process 1: where it is gone, so are its children
    passes: tuple[int, ...] | None = None  # the complete ones that it sees; None where it has no volume
    known: int = 0  # the highest generation that it has been in
    restarts: int = 0  # which came before that one
    stopped: int = 0  # the last generation that ended since a launcher was told to stop, this one or another
    ready: int = 0
    children: int = 0
    serving: int = 0
    trained: int = 0
    checked: int = 0  # every trainer was done, and then its pserver was looked at and found well, or it has none
    failure: Failure | None = None
    stopping: bool = False
    staged_bytes: int = 0
    looked_at: int = 0  # files, before the first of them is staged
    at_pass: int | None = None  # this and the next two are those of a trainer that is the pod's only one
    marks: Marks = field(default_factory=Marks)
    waits: tuple[Wait, ...] = ()
    word: LeaderMessage | None = None  # the leader's alone
    several: tuple[Trainer, ...] = field(default=(), metadata=ADDED)  # all trainers of a pod that has more than one

    @property
    def trainers(self) -> tuple[Trainer | Status, ...]:
        """Its trainers, by their numbers in the pod: of a single one the status itself tells all that they do."""
        return self.several or (self,)

    @staticmethod
    def fields_of(trainers: Sequence[Trainer]) -> Mapping[str, object]:
        """Return the fields that tell of a pod's trainers: of a single one as they always have."""
        if len(trainers) > 1:
            return {"several": tuple(trainers)}
        return {"marks": trainers[0].marks, "at_pass": trainers[0].at_pass, "waits": trainers[0].waits}
