"""Peers from a list: addresses, or host names, which are looked up so that one order by address serves all."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

from launcher.pod.log import Tell
from launcher.pod.outcome import SettingsError
from launcher.pod.peers.addresses import Resolve, local
from launcher.pod.peers.by_name import EVERY, by_name, mine, told_key
from launcher.pod.peers.gather import Rosters
from launcher.pod.peers.name_state import PeerNames
from launcher.pod.peers.roster import Peer, Roster
from launcher.pod.peers.seeking import Seeking
from launcher.pod.settings.nouns import Role, Settings


def rosters(
    settings: Settings,
    tell: Tell,
    seeking: Seeking,
    *,
    resolve: Resolve = socket.getaddrinfo,
    addresses: Callable[[], frozenset[str]] = local,
    every: float = EVERY,
    over: threading.Event | None = None,
) -> Rosters:
    """Yield the roster of the listed peers whenever every host name among them has an address."""
    pservers, trainers = (_place(names) for names in (settings.peers.pservers, settings.peers.trainers))
    places = {Role.PSERVER: pservers, Role.TRAINER: trainers} if settings.separated else {Role.NODE: trainers}
    is_mine = mine(settings.address, addresses)

    def own(_role: Role, peers: tuple[Peer, ...]) -> Peer:
        return _own(settings, [peer for peer in peers if is_mine(peer.address)])

    yield from by_name(places, settings, tell, seeking, own, resolve=resolve, every=every, over=over)


def alone(settings: Settings) -> Rosters:
    """Yield the roster of one, and end: nothing can change."""
    me = Peer(address=settings.address or "127.0.0.1")
    yield Roster(pservers=(me,), trainers=(me,), me=me, role=settings.role, key=told_key(settings))


def _place(names: tuple[str, ...]) -> PeerNames:
    return PeerNames(names=names, expected=len(names), counted_by="LAUNCHER_PEERS", apart=True)


def _own(settings: Settings, here: list[Peer]) -> Peer:
    if len(here) == 1:
        return here[0]
    if len(here) > 1:
        both = " and ".join(peer.address for peer in here)
        raise SettingsError(
            [f"POD_IP is not set: {both} in LAUNCHER_PEERS are both this machine's, set POD_IP to one of them"]
        )
    if settings.address:
        raise SettingsError([f"POD_IP={settings.address!r}: expected one of the addresses in LAUNCHER_PEERS"])
    raise SettingsError(
        ["LAUNCHER_PEERS has no address of this machine: add one, or set POD_IP to the one that is this pod's"]
    )
