"""Finds the peers, wherever the settings say that they are to be found, and says who they are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from launcher.pod.events import Tell
from launcher.pod.roster import Roster
from launcher.pod.settings import PeersFrom, Settings


def meet(
    settings: Settings, stop: threading.Event, tell: Tell, *, clock: Callable[[], float] = time.monotonic
) -> Roster:
    """Return the complete roster; blocks until then, until the join deadline, or until `stop` is set."""
    began = clock()
    roster = WAYS[settings.peers.source](settings, stop, tell)
    peers = dict.fromkeys((*roster.pservers, *roster.trainers))
    tell(
        "roster_complete",
        running=[("Running", peer.address) for peer in peers],
        rank=roster.rank,
        digest=roster.digest,
        seconds=round(clock() - began, 3),
    )
    return roster


def _kubernetes(settings: Settings, stop: threading.Event, tell: Tell) -> Roster:
    from launcher.pod.discovery import kubernetes  # 0.2 s and 43 MB, which the other ways do without

    return kubernetes.meet(settings, stop, tell)


def _dns(settings: Settings, stop: threading.Event, tell: Tell) -> Roster:
    from launcher.pod.discovery import dns

    return dns.meet(settings, stop, tell)


def _static(settings: Settings, stop: threading.Event, tell: Tell) -> Roster:
    from launcher.pod.discovery import static

    return static.meet(settings, stop, tell)


def _alone(settings: Settings, _stop: threading.Event, _tell: Tell) -> Roster:
    from launcher.pod.discovery import static

    return static.alone(settings)


WAYS = {
    PeersFrom.KUBERNETES: _kubernetes,
    PeersFrom.DNS: _dns,
    PeersFrom.STATIC: _static,
    PeersFrom.SELF: _alone,
}
