"""Who would take part in a start now: of the listed pods those that fit the width, and since when these are so.

No I/O here.
"""

from __future__ import annotations

from launcher.pod.gang.protocol.messages import Status
from launcher.pod.gang.protocol.planned.width import wait_for_more
from launcher.pod.peers.roster import FoundPods, Roster
from launcher.pod.settings.nouns import Width


class Candidates:
    """What the peer watch showed last, without the pods that the gang goes on without."""

    def __init__(self, width: Width, pservers: int) -> None:
        self._width, self._pservers = width, pservers
        self._shown: FoundPods | None = None
        self._since = 0.0
        self.left_out: tuple[str, ...] = ()
        self.found: FoundPods | None = None  # those who would take part, or who is missing

    @property
    def listed(self) -> Roster | None:
        """All pods that are there, if they are enough."""
        return self._shown if isinstance(self._shown, Roster) else None

    def look(self, shown: FoundPods | None, left_out: tuple[str, ...], now: float) -> bool:
        """Take what is shown now, and return whether anything has changed."""
        if shown is self._shown and left_out == self.left_out:
            return False
        before, self._shown, self.left_out = self.listed, shown, left_out
        self.found = shown
        if self._width.elastic and self.listed:
            self.found = self.listed.narrowed(left_out, self._width, self._pservers)
        if self.listed is None or before is None or before.digest != self.listed.digest:
            self._since = now
        return True

    def settled(self, mine: Status) -> float:
        """Return from when on they are taken: where not all are listed, once these have not changed for a while."""
        pods = len(self.listed.trainers) if self.listed else 0
        return self._since + wait_for_more(pods, self._width, mine)
