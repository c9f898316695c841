"""The names that a role's peers have, the roster that follows from their addresses, and what is said where none does.

No I/O here. A sentence changes only when something did, since it is told once per change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launcher.pod.peers.roster import FoundPods, Peer, Roster, Waiting, ordered
from launcher.pod.settings.nouns import Role

if TYPE_CHECKING:
    from launcher.pod.peers.addresses import Resolved

_SHOWN = 5  # of many that are missing

# Finds this pod among the peers of its role.
Own = Callable[[Role, tuple[Peer, ...]], Peer | Waiting]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerNames:
    """Where one role's peers are: one name for all of them, or one for each, by index or in no order.

    `least` of the names are enough, and `own` has to be among them; 0: all are needed.
    """

    names: tuple[str, ...]
    expected: int
    counted_by: str
    apart: bool
    indexed: bool = False
    least: int = 0
    own: str = ""

    @property
    def each(self) -> int:
        """How many addresses a name is to have."""
        return 1 if self.apart else self.expected

    @property
    def enough(self) -> int:
        """How many names must lead somewhere at the least."""
        return self.least or len(self.names)

    @property
    def in_words(self) -> str:
        """How many peers are expected."""
        return f"{self.least} to {self.expected}" if 0 < self.least < self.expected else str(self.expected)

    def lacking(self, found: Mapping[str, Resolved]) -> tuple[str, ...]:
        """Return the names with fewer addresses than a peer has, or with a second one, of a pod that it replaces."""
        return tuple(name for name in self.names if not self.is_there(found[name]))

    def is_there(self, found: Resolved) -> bool:
        """Return whether a name leads to whom it is to lead to."""
        return len(found.addresses) == self.each

    def has_enough(self, found: Mapping[str, Resolved]) -> bool:
        """Return whether those who are there can begin."""
        lacking = self.lacking(found)
        return len(self.names) - len(lacking) >= self.enough and self.own not in lacking


def roster_by_name(
    places: Mapping[Role, PeerNames], found: Mapping[str, Resolved], role: Role, own: Own
) -> FoundPods:
    """Return the roster when enough names of every place lead to one peer, else who is missing and why."""
    running = _running(places, found)
    if reasons := [_why(place, found) for place in places.values() if not place.has_enough(found)]:
        return Waiting(reason="; ".join(reasons), running=running)
    dealt = {key: ordered(_peers(place, found)) for key, place in places.items()}
    if shared := "".join(_shared(peers) for peers in dealt.values()):
        return Waiting(reason=shared, running=running)
    me = own(role, dealt[role])
    if isinstance(me, Waiting):
        return Waiting(reason=me.reason, running=running)
    every = list(dealt.values())
    return Roster(pservers=every[0], trainers=every[-1], me=me, role=role)


def _running(places: Mapping[Role, PeerNames], found: Mapping[str, Resolved]) -> tuple[tuple[str, str], ...]:
    names = (name for place in places.values() for name in place.names)
    return tuple(sorted({("Running", address) for name in names for address in found[name].addresses}))


def _peers(place: PeerNames, found: Mapping[str, Resolved]) -> list[Peer]:
    return [
        Peer(address=address, name=name if place.apart else "", index=index if place.indexed else None)
        for index, name in enumerate(place.names)
        if place.is_there(found[name])
        for address in found[name].addresses
    ]


def _why(place: PeerNames, found: Mapping[str, Resolved]) -> str:
    names = place.lacking(found)
    there = len(place.names) - len(names)
    lacking = [_lack(name, place, found[name]) for name in names if there < place.enough or name == place.own]
    if there >= place.enough or not place.apart:
        return "".join(lacking)
    more = [f"and {len(lacking) - _SHOWN} more"] if len(lacking) > _SHOWN else []
    count = f"{there} of {place.in_words} peers by {place.counted_by} have an address"
    return f"{count}: " + "; ".join(lacking[:_SHOWN] + more)


def _lack(name: str, place: PeerNames, found: Resolved) -> str:
    count, wanted = (
        len(found.addresses),
        f"{place.each} expected" + ("" if place.apart else f" by {place.counted_by}"),
    )
    if count == 0:
        return f"{found.why}, {wanted}"
    waiting = ": waiting for one to go" if count > place.each else ""
    return f"{name} has {count} addresses ({', '.join(found.addresses)}), {wanted}{waiting}"


def _shared(peers: tuple[Peer, ...]) -> str:
    """Return what two peers share: a name may lead for a while to a pod that is gone, whose address another has."""
    for address, times in Counter(peer.address for peer in peers).items():
        if times > 1:
            names = " and ".join(peer.name for peer in peers if peer.address == address)
            return f"{names} have the same address, {address}: expected an address for each peer"
    return ""
