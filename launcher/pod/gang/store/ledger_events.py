"""Notes what the seconds of all members were, as their leader heard it last: the event `ledger`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from launcher.pod.gang.protocol.member import Member
from launcher.pod.gang.protocol.messages import Status
from launcher.pod.gang.protocol.state import Heard

_Put = Callable[..., None]
_TOGETHER = 1000  # members in a line: a reader takes no line of more than a MiB


class LedgerEvents:
    """The last counters of each boot, also of one that is gone, until they are noted."""

    def __init__(self, put: _Put, own: Callable[[], Mapping[str, float]]) -> None:
        self._put = put
        self._own = own
        self._last: dict[str, Heard] = {}

    def hear(self, heard: Mapping[str, Heard]) -> None:
        """Take what the others said."""
        for each in heard.values():
            if each.status and each.status.seconds:
                self._last[each.status.who.boot] = each

    def note_gone(self, there: Collection[str], now: float) -> None:
        """Note those of launchers that are not there any more, for a leader that never heard them."""
        gone = [boot for boot in self._last if boot not in there]
        for each in map(self._last.pop, gone):
            if status := each.status:
                self._put("ledger", generation=status.known, members=[_line(status, status.seconds, now - each.came)])

    def note(self, generation: int, now: float, member: Member) -> None:
        """Note those of all; who is gone counts no more, and is noted only once."""
        own = member.status
        lines = [_line(own, self._own(), 0.0)]
        lines += [_line(its, its.seconds, now - each.came) for each in self._last.values() if (its := each.status)]
        for first in range(0, len(lines), _TOGETHER):
            self._put("ledger", generation=generation, members=lines[first : first + _TOGETHER])
        here = {each.status.who.boot for each in member.heard.values() if each.status}
        self._last = {boot: each for boot, each in self._last.items() if boot in here}


def _line(status: Status, seconds: Mapping[str, float], ago: float) -> dict[str, object]:
    who = status.who
    place = {"role": str(who.role), "rank": status.rank, "address": who.address, "pod": who.uid, "boot": who.boot}
    return {**place, "ago": round(max(0.0, ago), 3), "seconds": dict(seconds)}
