"""Peers from a list: addresses, or host names, which are looked up so that one order by address serves all."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

from launcher.pod.discovery import machine
from launcher.pod.discovery.names import EVERY, Place, Resolve, by_name, mine
from launcher.pod.events import Tell
from launcher.pod.outcome import SettingsError
from launcher.pod.roster import Peer, Roster
from launcher.pod.settings import Role, Settings


def meet(
    settings: Settings,
    stop: threading.Event,
    tell: Tell,
    *,
    resolve: Resolve = socket.getaddrinfo,
    addresses: Callable[[], frozenset[str]] = machine.addresses,
    every: float = EVERY,
) -> Roster:
    """Return the roster of the listed peers, once every host name among them has an address."""
    pservers, trainers = (_place(names) for names in (settings.peers.pservers, settings.peers.trainers))
    places = {Role.PSERVER: pservers, Role.TRAINER: trainers} if settings.separated else {Role.NODE: trainers}
    is_mine = mine(settings.address, addresses)

    def own(_role: Role, peers: tuple[Peer, ...]) -> Peer:
        return _own(settings, [peer for peer in peers if is_mine(peer.address)])

    return by_name(places, settings, stop, tell, own, resolve=resolve, every=every)


def alone(settings: Settings) -> Roster:
    """Return the roster of one."""
    me = Peer(address=settings.address or "127.0.0.1")
    return Roster(pservers=(me,), trainers=(me,), me=me, role=settings.role)


def _place(names: tuple[str, ...]) -> Place:
    return Place(names=names, expected=len(names), counted_by="LAUNCHER_PEERS", apart=True)


def _own(settings: Settings, here: list[Peer]) -> Peer:
    if len(here) == 1:
        return here[0]
    if len(here) > 1:
        both = " and ".join(peer.address for peer in here)
        raise SettingsError(
            [f"POD_IP is not set: expected it, since {both} in LAUNCHER_PEERS are both this machine's"]
        )
    if settings.address:
        raise SettingsError([f"POD_IP={settings.address!r}: expected one of the addresses in LAUNCHER_PEERS"])
    raise SettingsError(["LAUNCHER_PEERS: expected one of this machine's addresses in it, or POD_IP to say which"])
