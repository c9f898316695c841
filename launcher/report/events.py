"""The nouns of the gang's story: each event as a checked fact.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Seat:
    """A place in the gang: one row of the timeline."""

    role: str
    rank: int

    def __str__(self) -> str:
        """Name it as people do."""
        return f"{self.role} {self.rank}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A leader began to write of a run."""

    at: float
    key: str
    job: str
    facts: tuple[tuple[str, str], ...]
    resume: int | None
    moved_to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A generation was made: its members' seats and addresses."""

    at: float
    generation: int
    members: tuple[tuple[Seat, str], ...]
    resume: int | None
    restarts: int
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Phased:
    """A pod came to a phase; it may not know its rank yet."""

    at: float
    generation: int
    role: str
    rank: int | None
    address: str
    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A generation failed; the address is that of the first member that failed, if known, `tail` its last lines."""

    at: float
    generation: int
    address: str
    code: int
    reason: str
    tail: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLost:
    """A member was lost, known by its seat or by its address."""

    at: float
    generation: int
    seat: Seat | None
    address: str
    reason: str
    tail: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A program's progress report; `strange` names the metrics that were not finite, `node` is its pod's number."""

    at: float
    generation: int
    seat: Seat
    node: int
    pass_: int | None
    step: int | None
    metrics: Mapping[str, float]
    strange: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmNoted:
    """What was found out of a training that goes on; `rank` is a trainer's, None where it is of all."""

    at: float
    generation: int
    kind: str
    rank: int | None
    node: str
    reason: str
    tail: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSeconds:
    """What the seconds of one life of a launcher were, some seconds before they were noted; in milliseconds."""

    role: str
    rank: int | None
    address: str
    boot: str
    ago: float
    seconds: Mapping[str, int]

    @property
    def counted(self) -> float:
        """How long it has counted: from the start of its process."""
        return sum(self.seconds.values()) / 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerNoted:
    """What the seconds of all members were at the end of a generation."""

    at: float
    generation: int
    members: tuple[MemberSeconds, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How the whole gang ended."""

    at: float
    code: int
    reason: str


Event = Started | Made | Phased | Failed | MemberLost | Progress | AlarmNoted | LedgerNoted | Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The events in the file's order, and how many lines were of no use, and why."""

    events: tuple[Event, ...] = ()
    lines: int = 0
    unreadable: int = 0
    unknown: int = 0
    repeated: int = 0
