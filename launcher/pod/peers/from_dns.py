"""Peers from DNS: the addresses of a headless Service or a compose service, or one name for each index of a Job.

A headless Service shows pods before they are ready only with `publishNotReadyAddresses: true`.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

from launcher.contract import job_of
from launcher.pod.log import Tell
from launcher.pod.outcome import SettingsError
from launcher.pod.peers.addresses import Resolve, local
from launcher.pod.peers.by_name import EVERY, by_name, mine
from launcher.pod.peers.gather import Rosters
from launcher.pod.peers.name_state import PeerNames
from launcher.pod.peers.roster import Peer, Waiting
from launcher.pod.peers.seeking import Seeking
from launcher.pod.settings.nouns import Role, Settings

# A pod's name exists about a second after its start. An earlier lookup finds none, and a cluster's DNS remembers
# that for up to 30 s and for all pods.
EARLY = 2 * EVERY
WITNESS = "kubernetes.default"  # the API's own Service, in every cluster; an index says that this is one


def rosters(
    settings: Settings,
    tell: Tell,
    seeking: Seeking,
    *,
    resolve: Resolve = socket.getaddrinfo,
    addresses: Callable[[], frozenset[str]] = local,
    every: float = EVERY,
    early: float = EARLY,
    over: threading.Event | None = None,
) -> Rosters:
    """Yield the roster whenever DNS shows as many peers as are expected, else who is missing."""
    places = _places(settings)
    is_mine = mine(settings.address, addresses)

    def own(role: Role, peers: tuple[Peer, ...]) -> Peer | Waiting:
        if places[role].indexed:
            return _by_index(next(peer for peer in peers if peer.index == settings.index), is_mine)
        return _by_address(places[role], [peer for peer in peers if is_mine(peer.address)])

    in_cluster = settings.index is not None
    yield from by_name(
        places, settings, tell, seeking, own, resolve=resolve, every=every,
        early=min(early, settings.timing.join / 10) if in_cluster else 0.0, witness=WITNESS if in_cluster else "",
        over=over,
    )  # fmt: skip


def _places(settings: Settings) -> dict[Role, PeerNames]:
    """Return the names to look up, pservers first."""
    pservers, trainers = settings.peers.pservers[0], settings.peers.trainers[0]
    least, most = settings.width.least, settings.width.most_pods
    if not settings.separated:
        return {Role.NODE: _place(settings, Role.NODE, trainers, settings.job, most, least)}
    first, second = (job_of(settings.gang, role) for role in (Role.PSERVER, Role.TRAINER))
    return {
        Role.PSERVER: _place(settings, Role.PSERVER, pservers, first, settings.pservers, settings.pservers),
        Role.TRAINER: _place(settings, Role.TRAINER, trainers, second, most, least),
    }


def _place(settings: Settings, role: Role, name: str, job: str, expected: int, least: int) -> PeerNames:
    counted_by = "PSERVERS" if role is Role.PSERVER else settings.counted_by
    if settings.index is None:
        return PeerNames(names=(name,), expected=expected, counted_by=counted_by, apart=False)
    own = settings.index if role is settings.role else None
    if own is not None and own >= expected:
        problem = f"JOB_COMPLETION_INDEX={own}: expected less than {expected}, the number by {counted_by}"
        raise SettingsError([problem])
    names = tuple(f"{job}-{index}.{name}" for index in range(expected))
    return PeerNames(
        names=names, expected=expected, counted_by=counted_by, apart=True, indexed=True, least=least,
        own="" if own is None else names[own],
    )  # fmt: skip


def _by_index(peer: Peer, is_mine: Callable[[str], bool]) -> Peer | Waiting:
    # A name may lead for up to 30 s to the pod that this one replaces.
    return (
        peer if is_mine(peer.address) else Waiting(reason=f"{peer.name} leads to {peer.address}, not yet to this pod")
    )


def _by_address(place: PeerNames, here: list[Peer]) -> Peer | Waiting:
    if len(here) > 1:
        both = " and ".join(peer.address for peer in here)
        raise SettingsError([f"{both} of {place.names[0]} are both this pod's: set POD_IP to one of them"])
    return here[0] if here else Waiting(reason=f"none of the addresses of {place.names[0]} is this pod's")
