"""When nobody of an earlier generation can still be running: leases, and whom they account for.

No I/O here. A member's children live for `lease` after it sent the last answered poll to its leader; the leader's own
live for `lease` after it sent the last answered poll to each member. An answer is written after its poll was sent, so
`lost` seconds after the last answer, which is longer, nobody runs on the other side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from launcher.pod.gang.protocol.messages import Generation, Who
from launcher.pod.gang.protocol.state import Heard, Limits, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Until when members of the last generation may still run: by their leader for each, by a member for all."""

    by_boot: Mapping[str, float] = field(default_factory=dict)
    all: float = 0.0
    moving: bool = False  # on, as long as the leader says nothing else

    @property
    def until(self) -> float:
        """From when on nobody can be running."""
        return max(self.by_boot.values(), default=self.all)


def leaders(last: Generation, before: Fence, view: View, limits: Limits) -> Fence:
    """Return the fence as the last generation's leader knows it: each member accounts for itself, or runs out."""
    left: dict[str, float] = {}
    for who in last.members:
        heard = view.of(who.address)
        if accounted(who, heard):
            continue
        known = heard.status is not None and heard.status.who.boot == who.boot
        left[who.boot] = heard.wrote + limits.lost if known else before.by_boot.get(who.boot, view.now + limits.lost)
    return Fence(by_boot=left)


def members(last: Generation, before: Fence, view: View, limits: Limits) -> Fence:
    """Return the fence as another member knows it: a leader that is there accounts for all.

    Nothing begins without it while it is in the order; where it is not, its word is waited for. When it is gone, its
    own children may run for a while, and the others' leases on it a while longer; the grace of children is shorter.
    """
    leader = last.members[0]
    heard = view.of(leader.address)
    status = heard.status
    same = status is not None and status.who.boot == leader.boot and not heard.refused
    if same and status and view.now < heard.sent + limits.lease:
        rests = accounted(leader, heard) and status.quiet
        if leader.address in view.order or rests:
            return Fence()
        return Fence(all=view.now + limits.lease, moving=True)
    if before.all and not before.moving:
        return before
    gone = view.now if accounted(leader, heard) else max(view.now, heard.wrote + limits.lost)
    return Fence(all=gone + (limits.lease if len(last.members) > 2 else 0.0))


def accounted(who: Who, heard: Heard) -> bool:
    """Return whether a member surely runs nothing: it says so, or it was process 1 and is gone."""
    status = heard.status
    if status is None:
        return False
    if status.who.boot == who.boot:
        return not (status.children or status.ready) or (heard.refused and status.lone)
    return status.lone or status.who.uid != who.uid  # another process 1 in its place, or another pod at its address
