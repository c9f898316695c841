"""What one launcher knows of its gang: what it heard, what stands in the record, and what it keeps to.

No I/O here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from launcher.pod.gang.protocol.messages import Alarm, Generation, StackDigest, Status, Wait
from launcher.pod.outcome import Outcome
from launcher.pod.settings.nouns import Width


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerState:
    """How a trainer is: whether it is done, and what it has done nothing but wait for, for as long as a lease."""

    done: bool = False
    waits: tuple[Wait, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildrenState:
    """How a pod's children are: whether any is left, its pserver serves, its trainers are done; what went wrong.

    `checked` says that its pserver was looked at after every trainer was done, and was found well. `proof` is that of
    the failure, where a program failed by itself. `trainers` are the pod's own, by their numbers in it; `begun` says
    that all of them were started. `alarms` are what was found out of them, `looked` is the leader's last look that
    was answered, `standing` where they stood.
    """

    left: bool
    serving: bool
    trained: bool
    checked: bool = False
    failure: Outcome | None = None
    proof: str = ""
    told: bool = False
    trainers: tuple[TrainerState, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    looked: int = 0
    standing: tuple[StackDigest, ...] = ()
    begun: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What is known of a peer: its last status, when the poll that brought it was sent and answered; if it is gone.

    `refused` says that no launcher listens there any more; `wrote` is when this launcher last answered that peer.
    `stranger` says who answers there in its place: a launcher that is not of this run, of which nothing is believed.
    """

    status: Status | None = None
    sent: float = 0.0
    came: float = 0.0
    wrote: float = 0.0
    refused: bool = False
    stranger: str = ""

    def is_of(self, boot: str) -> bool:
        """Return whether it is this boot that answered last, and no other one at its address."""
        return self.status is not None and self.status.who.boot == boot


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds. A member's children live for `lease` after the last answered poll was sent; `lost` is longer."""

    lost: float
    lease: float
    wait: float  # how long a poll may wait for news
    gather: float  # for all to come together
    regather: float  # the same, after a failure


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFailure:
    """A failure, or the loss of a pod, that ended a generation of some run: when, on which node, whose, and why."""

    at: str = ""  # the time of day; it is not known before it is written down
    run: str = ""  # its key
    generation: int
    node: str
    role: str
    rank: int | None
    code: int
    lost: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What stands in the gang's record: the highest generation, the one that this launcher made, the verdict."""

    known: bool = True  # it was read whole at least once, or there is none: no verdict here means that there was none
    highest: int = 0
    made: int = 0
    latest: Generation | None = None
    sealed: Outcome | None = None  # the verdict
    stopped: int = 0  # the highest generation that ended since a launcher was told to stop
    looked: float = math.inf  # when the last look at all of it began; for ever where there is none
    rested: int = 0  # the generation of which nothing runs any more, as its leader knew
    trouble: str = ""  # why it is not up to date; tried again at each look
    held: str = ""  # for whom the run's first generation waits: an earlier run of the name may not be over
    unsealed: str = ""  # what follows where the verdict of success cannot be written
    failures: tuple[NodeFailure, ...] = ()  # of all runs of the name, the newest last
    newest: int | None = None  # the newest complete pass, once a leader in doubt has asked for it,
    read: float = math.inf  # and when that look at the passes began; for ever where no start goes on from any


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a gang keeps to: its limits, how many restarts it has, how long children may take to end in one.

    `window` is how long they may go on where the end is planned, if a program asks for that or all are `noticed`.
    The grace is no longer than from the end of a lease to the loss: who is cut off has ended before others go on.
    """

    limits: Limits
    restarts: int
    grace: float
    width: Width | None = None  # where it may change
    window: float = 0.0
    noticed: bool = False  # programs are given a signal: LAUNCHER_NOTICE


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All that one launcher knows at a moment. `order` holds the members' addresses, the leader's first."""

    now: float
    mine: Status
    order: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    heard: Mapping[str, Heard] = field(default_factory=dict)
    record: Recorded = field(default_factory=Recorded)
    newest: tuple[str, ...] = ()  # the order that there would be now; a generation keeps its own
    newest_digest: str = ""
    listed: tuple[str, ...] = ()  # the trainers' pods that there are, spares among them, where these vary
    begun: int = 0  # the last generation of which this launcher may have run a program
    wanted: int = 0  # looks that the desk has asked for here

    @property
    def leads(self) -> bool:
        """Whether this launcher is the first of the complete order."""
        return self.order[:1] == (self.mine.who.address,)

    def of(self, address: str) -> Heard:
        """Return what is known of a member; of this one everything, at this moment."""
        if address == self.mine.who.address:
            return Heard(status=self.mine, sent=self.now, wrote=self.now)
        return self.heard.get(address, Heard())

    def name(self, address: str) -> str:
        """Return a member's name for people."""
        return self.names.get(address, address)
