"""Who has a place at the status server, and who goes for whom: members, probes and strangers have rooms of their own.

No I/O here. A stranger can take a stranger's place, and nobody else's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol, TypeVar

PER_MEMBER = 2  # the connection that it asks on, and one that the network has lost
OWN_FILES = 128  # of a launcher beside its connections: logs, pipes, files that are staged side by side
FROM_ONE = 32  # of one address, unless it has shown itself to be a member's


class GuestKind(Enum):
    """What a connection has asked for so far."""

    NEWCOMER = auto()  # nothing yet
    PROBE = auto()  # how this launcher is, as a kubelet does
    STRANGER = auto()
    MEMBER = auto()


class Guest(Protocol):
    """A connection: what it is, whose (a boot or an address), and whether it can go without losing an answer."""

    @property
    def kind(self) -> GuestKind:
        """What it is."""
        ...

    @property
    def key(self) -> str:
        """Whose it is."""
        ...

    @property
    def idle(self) -> bool:
        """Whether it can go."""
        ...


_Guest = TypeVar("_Guest", bound=Guest)


class Full(Exception):
    """There is no place for one more, and nobody can go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """How many connections of each kind there may be at once; newcomers have what is left of `all`."""

    members: int
    strangers: int = 64
    probes: int = 16
    newcomers: int = 64

    @property
    def all(self) -> int:
        """How many there may be together."""
        return self.members + self.strangers + self.probes + self.newcomers


def rooms_for(members: int) -> Rooms:
    """Return the rooms of a gang of so many; some more of its members are there while some are replaced."""
    return Rooms(members=members + 32)


def files_for(members: int) -> int:
    """Return how many open files a leader needs: a connection from each member and one to each, and its own."""
    return rooms_for(members).all + members + OWN_FILES


def most_members(files: float) -> int:
    """Return how many members a leader can have with so many open files."""
    return max(1, int(files - files_for(0)) // 2)


def has_place(kind: GuestKind, own: int, same: int, all_: int, rooms: Rooms) -> bool:
    """Return whether one more may be there without another's going: with so many of the same key, kind, in all."""
    if kind is GuestKind.MEMBER:
        return own < PER_MEMBER and same < rooms.members
    if kind is GuestKind.NEWCOMER:
        return own < FROM_ONE and all_ < rooms.all
    return own < FROM_ONE and same < (rooms.probes if kind is GuestKind.PROBE else rooms.strangers)


def who_goes(kind: GuestKind, key: str, others: Collection[_Guest], rooms: Rooms) -> _Guest | None:
    """Return who has to go, the oldest first, so that one more of a kind may be there; raise Full if nobody can."""
    same = [each for each in others if each.kind is kind]
    own = [each for each in same if each.key == key]
    if has_place(kind, len(own), len(same), len(others), rooms):
        return None
    if kind is GuestKind.MEMBER:
        return _of_members(own, same)
    return _oldest([each for each in (own if len(own) >= FROM_ONE else same) if each.idle])


def _of_members(own: list[_Guest], same: list[_Guest]) -> _Guest:
    """Return the member's own older connection, else one of a member that has several."""
    counts = Counter(each.key for each in same)
    return _oldest(own or [each for each in same if counts[each.key] > 1])


def _oldest(guests: list[_Guest]) -> _Guest:
    if not guests:
        raise Full
    return guests[0]
