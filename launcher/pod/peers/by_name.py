"""Peers by name: host names looked up, once a second, only while one is missing or the gang seeks a member."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from launcher.pod.log import Tell
from launcher.pod.peers.addresses import Resolve, Resolved, local, lookups
from launcher.pod.peers.gather import Rosters, gather
from launcher.pod.peers.roster import FoundPods, Peer, Roster, Waiting, ordered
from launcher.pod.settings.nouns import Role, Settings

EVERY = 1.0
_SHOWN = 5  # of many that are missing

# Finds this pod among the peers of its role.
Own = Callable[[Role, tuple[Peer, ...]], Peer | Waiting]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerNames:
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


def by_name(
    places: Mapping[Role, PeerNames],
    settings: Settings,
    tell: Tell,
    seeking: threading.Event,
    own: Own,
    *,
    resolve: Resolve = socket.getaddrinfo,
    every: float = EVERY,
    early: float = 0.0,
    witness: str = "",
    over: threading.Event | None = None,
) -> Rosters:
    """Yield the roster, or Waiting, at each change of the addresses; the first lookup waits `early` seconds.

    The witness is a name that always resolves: where it does not either, it is DNS that is waited for.
    """

    def settled(found: Mapping[str, Resolved]) -> FoundPods:
        reason = _no_dns(found.get(witness))
        known = Waiting(reason=reason) if reason else _settle(places, found, settings.role, own)
        return replace(known, key=told_key(settings))

    def look(over: threading.Event, _trouble: object) -> Iterator[FoundPods]:
        over.wait(early)
        asked = partial(lookups, resolve=resolve, over=over)
        return _look(places, settled, asked, over, seeking, every, witness)

    for place in places.values():
        tell("peers_wanted", selector=_shown(place.names), desired=place.expected)
    try:
        yield from gather(
            {"names": look}, lambda known, _: known["names"], tell, seconds=settings.timing.join, over=over
        )
    finally:
        seeking.set()  # the thread that sleeps until a peer is missing must wake and see that it is over


def told_key(settings: Settings) -> str:
    """Return the key of a gang that is known by names: the UID of the trainers' Job where this pod was told it."""
    return "" if settings.role is Role.PSERVER else settings.job_uid


def mine(told: str, here: Callable[[], frozenset[str]] = local) -> Callable[[str], bool]:
    """Return the test for this pod's own address: POD_IP where it is told, else any that this machine has."""
    if told:
        return lambda address: address == told
    held = here()
    # The whole of 127.0.0.0/8 is every machine's own, though its interface shows but one address of it.
    return lambda address: address in held or address.startswith("127.")


def _look(
    places: Mapping[Role, PeerNames],
    settled: Callable[[Mapping[str, Resolved]], FoundPods],
    asked: Callable[[tuple[str, ...]], Iterable[tuple[str, Resolved]]],
    over: threading.Event,
    seeking: threading.Event,
    every: float,
    witness: str,
) -> Iterator[FoundPods]:
    names = tuple(dict.fromkeys(name for place in places.values() for name in place.names))
    answers: dict[str, Resolved] = {}
    due, met = names, False
    while True:
        answers.update(asked(due))
        if due != names and not over.is_set() and not _missing(places, answers):
            # What was found first may have been replaced while the last was waited for.
            answers.update(asked(names))
        answers.pop(witness, None)
        if witness and not any(answers[name].addresses for name in names):
            answers.update(asked((witness,)))
        if over.is_set():
            return
        yield (state := settled(answers))
        if isinstance(state, Roster) and not seeking.is_set():
            seeking.wait()
        else:
            over.wait(every)
        met = met or isinstance(state, Roster)
        # A name may lead to a pod that is gone: a peer that is missing after the start may be behind any of them.
        due = names if met and seeking.is_set() else _missing(places, answers) or names


def _no_dns(witness: Resolved | None) -> str:
    if witness is None or witness.addresses:
        return ""
    look = "`kubectl -n kube-system get pods -l k8s-app=kube-dns` shows its servers"
    return f"the cluster's DNS does not answer: {witness.why}, nor does any name of this job; {look}"


def _missing(places: Mapping[Role, PeerNames], found: Mapping[str, Resolved]) -> tuple[str, ...]:
    wanted = ((name, place.each) for place in places.values() for name in place.names)
    return tuple(dict.fromkeys(name for name, each in wanted if len(found[name].addresses) != each))


def _settle(
    places: Mapping[Role, PeerNames],
    found: Mapping[str, Resolved],
    role: Role,
    own: Own,
) -> FoundPods:
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


def _peers(place: PeerNames, found: Mapping[str, Resolved]) -> list[Peer]:
    return [
        Peer(address=address, name=name if place.apart else "", index=index if place.indexed else None)
        for index, name in enumerate(place.names)
        for address in found[name].addresses
    ]


def _why(place: PeerNames, found: Mapping[str, Resolved]) -> str:
    lacking = [_lack(name, place, found[name]) for name in place.names if len(found[name].addresses) != place.each]
    if not lacking or not place.apart:
        return "".join(lacking)
    more = [f"and {len(lacking) - _SHOWN} more"] if len(lacking) > _SHOWN else []
    there = f"{place.expected - len(lacking)} of {place.expected} peers by {place.counted_by} have an address"
    return f"{there}: " + "; ".join(lacking[:_SHOWN] + more)


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


def _shown(names: tuple[str, ...]) -> str:
    return ",".join(names[:_SHOWN]) + (",..." if len(names) > _SHOWN else "")
