"""The lease: for how long children may run on what was heard, and when none of an earlier generation can still run.

No I/O here. A member's children live for `lease` after it sent the last answered poll to its leader; the leader's own
live for `lease` after it sent the last answered poll to each member. An answer is written after its poll was sent, so
`lost` seconds after the last answer, which is longer, nothing runs on the other side. Only this module adds the two
to a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from launcher.pod.gang.protocol.messages import Generation, LeaderMessage, Who
from launcher.pod.gang.protocol.state import Heard, Limits, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Until when members of the last generation may still run: by their leader for each, by a member for all."""

    by_boot: Mapping[str, float] = field(default_factory=dict)
    all: float = 0.0
    moving: bool = False  # on, as long as the leader says nothing else

    @property
    def until(self) -> float:
        """From when on no program can run."""
        return max(self.by_boot.values(), default=self.all)


def limits_of(*, peer: float, join: float, rejoin: float, lap: float = 0.0) -> Limits:
    """Return the limits that follow from the settings' time-outs; a poll waits as long as a lap of all takes."""
    lease = peer * 2 / 3
    return Limits(lost=peer, lease=lease, wait=min(max(peer / 5, lap), lease / 3), gather=join, regather=rejoin)


def grace(wanted: float, limits: Limits) -> float:
    """Return the grace of children in a restart: a pod that is cut off has ended before it counts as lost."""
    return min(wanted, _ending(limits))


def _ending(limits: Limits) -> float:
    return (limits.lost - limits.lease) / 2


def reading_pace(limits: Limits) -> float:
    """Return how often the record is read again: more than once in a lease."""
    return limits.lease / 3


def patience_with_waits(limits: Limits) -> float:
    """Return for how long a trainer may do nothing but wait before its leader is told."""
    return limits.lease


def alive_until(sent: float, limits: Limits) -> float:
    """Return until when children may run on an answer to the poll that was sent then."""
    return sent + limits.lease


def lost_at(since: float, limits: Limits) -> float:
    """Return from when on nothing runs on the other side, which was answered then for the last time."""
    return since + limits.lost


def stands_still(away: float, limits: Limits) -> bool:
    """Return whether a main thread has been away for so long that it can keep no lease."""
    return away > limits.lease


def silent(heard: Heard, now: float, limits: Limits) -> bool:
    """Return whether a peer has not answered for a lease."""
    return now > alive_until(heard.sent, limits)


def answers(heard: Heard, now: float, limits: Limits) -> bool:
    """Return whether a peer is there: its launcher listens, and has answered within a lease."""
    return not heard.refused and not silent(heard, now, limits)


def unasking(heard: Heard, now: float, limits: Limits) -> bool:
    """Return whether a peer has not asked for so long that it counts as lost."""
    return now > lost_at(heard.wrote, limits)


def strangers_until(now: float, limits: Limits) -> float:
    """Return until when members of an unknown gang may run, that can learn only from now on of the one after it."""
    return lost_at(now, limits) + limits.lease


def children_until(leader: Heard, word: LeaderMessage | None, view: View, limits: Limits) -> float:
    """Return until when the children here may run: the leader's own on the answers and the questions of every member.

    One that was told to stop and runs nothing any more is not waited for: it takes part in nothing after this. Whose
    questions do not come any more counts as lost, though it answers: it goes on without this leader, whatever grace
    its children have.
    """
    if not (view.leads and word and word.generation):
        return alive_until(leader.sent, limits)
    others = [view.of(who.address) for who in word.generation.members if not _left(who, view)]
    unasked = lost_at(min(each.wrote for each in others), limits) + _ending(limits)
    return min(alive_until(min(each.sent for each in others), limits), unasked)


def _left(who: Who, view: View) -> bool:
    heard = view.of(who.address)
    status = heard.status
    stopped = status is not None and status.who.boot == who.boot and status.stopping
    return stopped and who.boot != view.mine.who.boot and accounted(who, heard, view.mine.ready)


def leaders(last: Generation, before: Fence, view: View, limits: Limits) -> Fence:
    """Return the fence as the last generation's leader knows it: each member accounts for itself, or runs out."""
    left: dict[str, float] = {}
    for who in last.members:
        heard = view.of(who.address)
        if accounted(who, heard, last.number):
            continue
        unknown = before.by_boot.get(who.boot, lost_at(view.now, limits))
        left[who.boot] = lost_at(heard.wrote, limits) if heard.is_of(who.boot) else unknown
    return Fence(by_boot=left)


def members(last: Generation, before: Fence, view: View, limits: Limits) -> Fence:
    """Return the fence as another member knows it: a leader that is there accounts for all.

    Nothing begins without it while it is in the order; where it is not, its word is waited for. When it is gone, its
    own children may run for a while, and the others' leases on it a while longer; the grace of children is shorter.
    """
    leader = last.members[0]
    heard = view.of(leader.address)
    status = heard.status
    known = heard.is_of(leader.boot)
    if known and status and status.quiet and not (status.children or status.ready):
        return Fence()  # it has said that nothing of it runs, and that stays so when it leaves
    if known and not heard.refused and view.now < alive_until(heard.sent, limits):
        if leader.address in view.order and not _passed_over(leader, last, view):
            return Fence()
        return Fence(all=alive_until(view.now, limits), moving=True)
    if before.all and not before.moving:
        return before
    gone = view.now if accounted(leader, heard, last.number) else max(view.now, lost_at(heard.wrote, limits))
    return Fence(all=alive_until(gone, limits) if len(last.members) > 2 else gone)


def _passed_over(leader: Who, last: Generation, view: View) -> bool:
    """Return whether a later generation is made without the last leader: another launcher is at its address."""
    status = view.of(view.order[0]).status
    made = status.word.generation if status and status.word else None
    return made is not None and made.number > last.number and leader not in made.members


def accounted(who: Who, heard: Heard, number: int) -> bool:
    """Return whether a member surely runs nothing of a generation: it says so, or it was process 1 and is gone."""
    status = heard.status
    if status is None:
        return False
    if status.who.boot == who.boot:
        rests = not (status.children or status.ready) or status.known > number
        return rests or (heard.refused and status.lone)
    return status.lone or status.who.uid != who.uid  # another process 1 in its place, or another pod at its address
