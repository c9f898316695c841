"""Watches the peers on a thread of its own, for life: the latest roster, or which pods are missing."""

from __future__ import annotations

import threading
from collections.abc import Callable

from launcher.pod.log import Tell
from launcher.pod.peers.discovery import rosters
from launcher.pod.peers.roster import Roster, Waiting
from launcher.pod.settings.nouns import Settings


class PeerWatch:
    """The thread, and what it saw last; `nudge` is called on it after each change."""

    def __init__(self, settings: Settings, nudge: Callable[[], None], tell: Tell) -> None:
        self.latest: Roster | Waiting | None = None
        self.broken: BaseException | None = None
        self.seeking = threading.Event()  # set while a peer is missing: names are looked up again
        self._nudge = nudge
        threading.Thread(target=self._look, args=(settings, tell), name="peer watch", daemon=True).start()

    def _look(self, settings: Settings, tell: Tell) -> None:
        try:
            for found in rosters(settings, tell, self.seeking):
                self.latest = found
                self._nudge()
        except BaseException as error:
            self.broken = error
            self._nudge()
