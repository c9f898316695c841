"""Peers by name: host names looked up, once a second, only while one is missing."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from launcher.pod.discovery import machine
from launcher.pod.discovery.gather import gather
from launcher.pod.events import Tell
from launcher.pod.outcome import SettingsError
from launcher.pod.roster import Peer, Roster, Waiting, ordered
from launcher.pod.settings import Role, Settings

EVERY = 1.0
SHOWN = 5  # of many that are missing

Resolve = Callable[..., list[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one role's peers are: one name for all of them, or one for each, by index or in no order."""

    names: tuple[str, ...]
    expected: int
    counted_by: str
    apart: bool
    indexed: bool = False

    @property
    def each(self) -> int:
        """How many addresses a name is to have."""
        return 1 if self.apart else self.expected


@dataclass(frozen=True, slots=True)
class Found:
    """What a name led to: addresses, or the reason why to none."""

    addresses: tuple[str, ...] = ()
    why: str = ""


def by_name(
    places: Mapping[Role, Place],
    settings: Settings,
    stop: threading.Event,
    tell: Tell,
    own: Callable[[Role, tuple[Peer, ...]], Peer | Waiting],
    *,
    resolve: Resolve = socket.getaddrinfo,
    every: float = EVERY,
) -> Roster:
    """Return the roster once the names lead to exactly the expected peers, this pod among them."""

    def fold(found: Mapping[str, Mapping[str, Found]]) -> Roster | Waiting:
        return _settle(places, found["names"], settings.role, own)

    for place in places.values():
        tell("peers_wanted", selector=_shown(place.names), desired=place.expected)
    looking = {"names": lambda over, _trouble: _look(places, resolve, over, every)}
    return gather(looking, fold, stop, tell, seconds=settings.timing.join)


def mine(told: str, here: Callable[[], frozenset[str]] = machine.addresses) -> Callable[[str], bool]:
    """Return the test for this pod's own address: POD_IP where it is told, else any that this machine has."""
    if told:
        return lambda address: address == told
    held = here()
    # The whole of 127.0.0.0/8 is every machine's own, though its interface shows but one address of it.
    return lambda address: address in held or address.startswith("127.")


def _look(
    places: Mapping[Role, Place], resolve: Resolve, over: threading.Event, every: float
) -> Iterator[Mapping[str, Found]]:
    names = tuple(dict.fromkeys(name for place in places.values() for name in place.names))
    found: dict[str, Found] = {}
    due = names
    while not over.is_set():
        found.update(_lookups(due, resolve, over))
        if due != names and not _missing(places, found):
            # What was found first may have been replaced while the last was waited for.
            found.update(_lookups(names, resolve, over))
        if not over.is_set():
            yield dict(found)
        over.wait(every)
        due = _missing(places, found) or names


def _lookups(names: tuple[str, ...], resolve: Resolve, over: threading.Event) -> Iterator[tuple[str, Found]]:
    for name in names:
        if not over.is_set():
            yield name, _lookup(name, resolve)


def _lookup(name: str, resolve: Resolve) -> Found:
    """Return a name's addresses of one family: IPv4 where there is any, so that every pod takes the same."""
    try:
        answers = resolve(name, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise SettingsError([f"{name!r}: expected a host name, of parts of 1 to 63 characters"]) from error
    except OSError as error:
        return Found(why=f"{name} does not resolve ({error.strerror or error})")
    families = {answer[0] for answer in answers}
    family = socket.AF_INET if socket.AF_INET in families else socket.AF_INET6
    found = {machine.plain(answer[4][0]) for answer in answers if answer[0] == family}
    return Found(addresses=tuple(sorted(filter(None, found))), why=f"{name} has no address")


def _missing(places: Mapping[Role, Place], found: Mapping[str, Found]) -> tuple[str, ...]:
    wanted = ((name, place.each) for place in places.values() for name in place.names)
    return tuple(dict.fromkeys(name for name, each in wanted if len(found[name].addresses) != each))


def _settle(
    places: Mapping[Role, Place],
    found: Mapping[str, Found],
    role: Role,
    own: Callable[[Role, tuple[Peer, ...]], Peer | Waiting],
) -> Roster | Waiting:
    reasons = [why for place in places.values() if (why := _why(place, found))]
    dealt = {key: ordered(_peers(place, found)) for key, place in places.items()}
    running = tuple(sorted({("Running", peer.address) for peers in dealt.values() for peer in peers}))
    if reasons:
        return Waiting(reason="; ".join(reasons), running=running)
    if shared := "".join(_shared(peers) for peers in dealt.values()):
        return Waiting(reason=shared, running=running)
    me = own(role, dealt[role])
    if isinstance(me, Waiting):
        return Waiting(reason=me.reason, running=running)
    every = list(dealt.values())
    return Roster(pservers=every[0], trainers=every[-1], me=me, role=role)


def _peers(place: Place, found: Mapping[str, Found]) -> list[Peer]:
    return [
        Peer(address=address, name=name if place.apart else "", index=index if place.indexed else None)
        for index, name in enumerate(place.names)
        for address in found[name].addresses
    ]


def _why(place: Place, found: Mapping[str, Found]) -> str:
    lacking = [_lack(name, place, found[name]) for name in place.names if len(found[name].addresses) != place.each]
    if not lacking or not place.apart:
        return "".join(lacking)
    more = [f"and {len(lacking) - SHOWN} more"] if len(lacking) > SHOWN else []
    there = f"{place.expected - len(lacking)} of {place.expected} peers by {place.counted_by} have an address"
    return f"{there}: " + "; ".join(lacking[:SHOWN] + more)


def _lack(name: str, place: Place, found: Found) -> str:
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
            return f"{names} are one address, {address}: expected an address for each peer"
    return ""


def _shown(names: tuple[str, ...]) -> str:
    return ",".join(names[:SHOWN]) + (",..." if len(names) > SHOWN else "")
