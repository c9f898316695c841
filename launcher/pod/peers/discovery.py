"""Finds the peers where the settings say, for life: the complete roster, or which pods are missing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing

from launcher.pod.log import Tell
from launcher.pod.peers.gather import Rosters
from launcher.pod.peers.roster import Roster, Waiting
from launcher.pod.peers.seeking import Seeking
from launcher.pod.settings.nouns import PeersFrom, Settings


def rosters(
    settings: Settings, tell: Tell, seeking: Seeking, *, clock: Callable[[], float] = time.monotonic
) -> Rosters:
    """Yield the complete roster, or who is missing, at each change.

    Until the first roster the join deadline holds and the wait is told; after it nothing is told or raised.
    Names are looked up again only while `seeking` is set. A gang of one is yielded once, and that is the end.
    """
    began, met = clock(), False
    with closing(WAYS[settings.peers.source](settings, tell, seeking)) as states:
        for state in states:
            if isinstance(state, Roster) and not met:
                met = True
                _complete(state, tell, seconds=round(clock() - began, 3))
            yield state


def _complete(roster: Roster, tell: Tell, *, seconds: float) -> None:
    peers = dict.fromkeys((*roster.pservers, *roster.trainers))
    running = [("Running", peer.address) for peer in peers]
    tell("roster_complete", running=running, rank=roster.rank, digest=roster.digest, seconds=seconds)


def _kubernetes(settings: Settings, tell: Tell, seeking: Seeking) -> Rosters:
    from launcher.pod.peers import from_api  # 0.2 s and 43 MB, which the other ways do without

    return from_api.rosters(settings, tell, seeking)


def _dns(settings: Settings, tell: Tell, seeking: Seeking) -> Rosters:
    from launcher.pod.peers import from_dns

    return from_dns.rosters(settings, tell, seeking)


def _static(settings: Settings, tell: Tell, seeking: Seeking) -> Rosters:
    from launcher.pod.peers import from_list

    return from_list.rosters(settings, tell, seeking)


def _alone(settings: Settings, _tell: Tell, _seeking: Seeking) -> Rosters:
    from launcher.pod.peers import from_list

    return from_list.alone(settings)


WAYS = {
    PeersFrom.KUBERNETES: _kubernetes,
    PeersFrom.DNS: _dns,
    PeersFrom.STATIC: _static,
    PeersFrom.SELF: _alone,
}


class PeerWatch:
    """A thread of its own, and what it saw last; `nudge` is called on it after each change."""

    def __init__(
        self,
        settings: Settings,
        nudge: Callable[[], None],
        tell: Tell,
        *,
        look: Callable[[Settings, Tell, Seeking], Rosters] = rosters,
    ) -> None:
        self.latest: Roster | Waiting | None = None
        self.broken: BaseException | None = None
        self.seeking = Seeking()  # set while a peer is missing: names are looked up again
        self._more_may_come = settings.width.least < settings.width.most_pods
        self._nudge = nudge
        states = look(settings, tell, self.seeking)
        threading.Thread(target=self._look, args=(states,), name="peer watch", daemon=True).start()

    def asked_by(self, address: str) -> None:
        """Look names up once more, as a launcher that nobody knows asked from there; for any thread.

        Where a gang runs with fewer pods than there may be, it may be one that comes, and nobody is missing.
        """
        found = self.latest
        known = isinstance(found, Roster) and any(peer.address == address for _, peer in found.members)
        if self._more_may_come and not known:
            self.seeking.once()

    def _look(self, states: Rosters) -> None:
        try:
            for found in states:
                self.latest = found
                self._nudge()
        except BaseException as error:
            self.broken = error
            self._nudge()
