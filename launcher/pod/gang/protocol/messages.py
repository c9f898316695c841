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

# A field that launchers before this one do not send: it is left out where it is empty, and need not be there.
ADDED = {"added": True}


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
    LEAVING = contract.LEAVING  # it ends soon as planned: trainers go on, and may save a pass
    CHECKING = contract.CHECKING  # every trainer is done: each pserver is looked at once more
    OVER = contract.OVER  # there is a verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """A member: one process of one pod. A pod that starts its launcher again is another member."""

    role: Role
    address: str
    uid: str
    boot: str

    @property
    def pod(self) -> str:
        """What tells its pod from others: the UID, or the address where nobody was told that, as by names."""
        return self.uid or self.address


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure(Outcome):
    """What went wrong first: the outcome, in which generation (0: before any), at which member.

    `told` says that nothing went wrong: a launcher was told to stop, which spends no restart. `proof` is there where
    a program failed by itself: equal for the same program with the same code and the same last line. `node` is the
    name of its node, where it is known.
    """

    generation: int
    address: str = ""
    told: bool = False
    proof: str = field(default="", metadata=ADDED)
    node: str = field(default="", metadata=ADDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One start of the whole gang: its members in rank order, the pass to go on from, and what came before.

    `reached` is how many passes were complete at most, before this start or an earlier one. Each new one gives a
    restart back; `regained` counts them. `after_strangers`: when it was made, launchers that nobody here had heard of
    could still run an earlier one, so that it begins after a while.
    """

    number: int
    members: tuple[Who, ...]
    digest: str
    resume: int | None = None
    restarts: int = 0
    cause: str = ""
    left: int = field(default=0, metadata=ADDED)  # how many starts in a row ended as planned without a new pass
    failing: str = field(default="", metadata=ADDED)  # the proof of the failure before it, and how often that came
    failed: int = field(default=0, metadata=ADDED)  # in a row, without a new pass
    regained: int = field(default=0, metadata=ADDED)
    reached: int = field(default=0, metadata=ADDED)
    after_strangers: bool = field(default=False, metadata=ADDED)

    @property
    def spent(self) -> int:
        """How many restarts count against the most that there may be."""
        return self.restarts - self.regained

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


class Trouble(StrEnum):
    """What a launcher finds out about a training though no program has ended."""

    STALLED = contract.Alarmed.STALLED  # a trainer gives no output, uses no CPU, reports nothing
    NO_STEP = contract.Alarmed.NO_STEP  # no step for long, though it works
    TIMED_OUT = contract.Alarmed.TIMED_OUT  # a wait of its own timeout is over
    NOT_A_NUMBER = contract.Alarmed.NOT_A_NUMBER  # a reported number is none
    SLOW = contract.Alarmed.SLOW  # its steps take longer than the gang's: the leader's finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """What a launcher found out of one of its trainers, in which generation; with a code it is to end that.

    `number` counts the alarms of this launcher in that generation, from 1, so that each is heard once.
    """

    number: int
    generation: int
    kind: Trouble
    rank: int
    reason: str
    code: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StackDigest:
    """Where a program stands: equal digests are equal places. `where` is for members alone, as the ends of logs are.

    `waits` says that it does nothing but wait for other programs, as far as its frames tell. `digest` is empty where
    nothing could be learned; `state` is the kernel's word where that is the reason ("stopped", "in the kernel").
    """

    role: Role
    rank: int
    digest: str
    waits: bool = False
    state: str = ""
    where: str = field(default="", metadata=ADDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmTold:
    """What the leader tells all of an alarm: whose it is, on which node, in a sentence.

    `tail` is where the programs stand, for members alone.
    """

    kind: Trouble
    rank: int | None
    node: str
    reason: str
    tail: str = field(default="", metadata=ADDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """That a generation ends soon, as planned: why, and after how many seconds at the latest.

    `call` says at which of their calls of `here.leaving()` all trainers hear of it; 0 while that is not known.
    """

    why: str
    seconds: float
    call: int = 0


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
    look: int = field(default=0, metadata=ADDED)  # all are to take the stacks of their programs: this often so far
    found: tuple[AlarmTold, ...] = field(default=(), metadata=ADDED)  # of late, the newest last
    window: float = field(default=0.0, metadata=ADDED)  # so long programs go on once a launcher was told to stop
    leaving: Leaving | None = field(default=None, metadata=ADDED)  # with the stage of that name

    @property
    def number(self) -> int:
        """The number of the generation that it is about."""
        return self.generation.number if self.generation else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast a trainer goes: its steps so far in this generation, and the seconds that it was busy with them.

    Waits for others and savings are no part of these. `phase` is that of the step that it is in. `counted`: from its
    reports, so that what it does between two steps is in them. A rank that saves by itself is no slow one.
    """

    steps: int = 0
    busy: float = 0.0
    phase: str = ""
    counted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What a trainer said to its launcher: where it waits, what it shares, how far it is and how fast.

    `leave` is there once it has called `here.leaving()`: 0; and in a generation that ends soon the first of its calls
    that can be told so, whether it makes any or not.
    """

    at: tuple[str, ...] = ()
    shared: Mapping[str, str] = field(default_factory=dict)
    progress: Mapping[str, float | str] = field(default_factory=dict)
    pace: Pace | None = field(default=None, metadata=ADDED)
    leave: int | None = field(default=None, metadata=ADDED)


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
    node: str = field(default="", metadata=ADDED)  # the name of its node
    seconds: Mapping[str, float] = field(default_factory=dict, metadata=ADDED)  # its ledger
    alarms: tuple[Alarm, ...] = field(default=(), metadata=ADDED)  # its last ones in this generation
    regained: int = field(default=0, metadata=ADDED)  # of its restarts
    looked: int = field(default=0, metadata=ADDED)  # the leader's last look that it has answered
    standing: tuple[StackDigest, ...] = field(default=(), metadata=ADDED)  # of its programs, at that look
    width: str = field(default="", metadata=ADDED)  # what it was told of the gang's, where that varies
    left_out: tuple[str, ...] = field(default=(), metadata=ADDED)  # who is not waited for, where it is the first

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
