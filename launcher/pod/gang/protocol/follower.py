"""What a member does next: a pure function of its leader's word and of its own state.

No I/O here. The leader follows its own word as every member does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from launcher.contract import Code
from launcher.pod.gang.protocol.lease import alive_until, children_until
from launcher.pod.gang.protocol.messages import LeaderMessage, Stage, Who
from launcher.pod.gang.protocol.state import Heard, Rules, View
from launcher.pod.gang.protocol.trust import verdict_of
from launcher.pod.outcome import Outcome
from launcher.pod.programs.policy import Cause, Instructions
from launcher.pod.settings.nouns import Role


class MayRun(IntEnum):
    """Which of a pod's programs may run."""

    NOTHING = 0
    PSERVERS = 1
    ALL = 2


_ROLES = {
    MayRun.NOTHING: frozenset[Role](),
    MayRun.PSERVERS: frozenset({Role.PSERVER}),
    MayRun.ALL: frozenset({Role.PSERVER, Role.TRAINER}),
}
_MAY_RUN = {
    Stage.SERVING: MayRun.PSERVERS,
    Stage.TRAINING: MayRun.ALL,
    Stage.LEAVING: MayRun.ALL,
    Stage.CHECKING: MayRun.ALL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What to do now: the generation to be ready for, what may run in it, how it ends; when to ask again.

    `kill` says that its children end at once, without grace; `check` that its pserver is to be looked at. `look` is
    the number of the look for which their stacks are to be taken. `leaving`: it all ends soon, as planned; `window`
    is how long they go on where this launcher is told to stop.
    """

    ready: int = 0
    run: MayRun = MayRun.NOTHING
    end: Outcome | None = None
    kill: bool = False
    check: bool = False
    look: int = 0
    leaving: bool = False
    window: float = 0.0
    verdict: Outcome | None = None
    until: float | None = None


def follow(view: View, rules: Rules) -> Orders:
    """Return the orders; `view.order` begins with the leader of the generation that this member is in."""
    heard = view.of(view.order[0]) if view.order else Heard()
    word = heard.status.word if heard.status else None
    if verdict := _verdict(view) or view.record.sealed:
        return _over(verdict, heard, view, rules)
    if view.mine.ready:
        return _in_generation(heard, word, view, rules)
    return Orders(ready=_joined(word, view, rules) if word else 0)


def renewals(members: Sequence[Who], before: Mapping[str, float], view: View) -> dict[str, float]:
    """Return by boot when the last poll was sent that each of some members answered itself."""
    sent = ((who.boot, view.of(who.address)) for who in members)
    return {boot: heard.sent if heard.is_of(boot) else before.get(boot, 0.0) for boot, heard in sent}


def leased(members: Sequence[Who], renewed: Mapping[str, float], view: View) -> View:
    """Return a view in which only these members renew the lease of the children here.

    What answers at their addresses now may be another launcher: one that was started again, or a stranger.
    """
    heard = {who.address: (who.boot, view.of(who.address)) for who in members}
    others = {
        address: replace(each, sent=min(each.sent, renewed[boot]))
        for address, (boot, each) in heard.items()
        if not each.is_of(boot)
    }
    return replace(view, heard={**view.heard, **others}) if others else view


def instructed(before: Instructions, orders: Orders, now: float) -> Instructions:
    """Return what is wanted of the children now; the first cause of their end stands, but a kill ends any grace."""
    cause = before.cause
    if cause is None or (orders.kill and cause.grace != 0):
        cause = _cause(orders, before.grace, now)
    leaving = now if orders.leaving and before.leaving is None else before.leaving
    return replace(
        before,
        run=_ROLES[orders.run],
        cause=cause,
        check=orders.check,
        look=orders.look,
        leaving=leaving,
        window=orders.window,
        until=orders.until,
    )


def _cause(orders: Orders, grace: float | None, now: float) -> Cause | None:
    grace = 0.0 if orders.kill else None if orders.verdict else grace
    outcome = orders.verdict or orders.end
    return Cause(at=now, outcome=outcome, grace=grace) if outcome else None


def _verdict(view: View) -> Outcome | None:
    """Return a verdict that was heard, also of a leader that is not in the order any more; it is final."""
    statuses = (view.mine, *(heard.status for heard in view.heard.values() if heard.status))
    return next((verdict for status in statuses if (verdict := verdict_of(status, view))), None)


def awaits_record(word: LeaderMessage | None, view: View, rules: Rules) -> bool:
    """Return whether a generation is made that this launcher has still to find in the record, by its own mount.

    Where a narrower gang is enough, two that share no directory could each make one in a record of its own.
    """
    generation = word.generation if word and word.stage is Stage.READYING else None
    knows_record = rules.width is not None and bool(view.mine.key)  # a pserver that is found by name has none
    return knows_record and generation is not None and generation != view.record.latest


def _joined(word: LeaderMessage, view: View, rules: Rules) -> int:
    """Return the number of the generation that this member can take part in, or 0; never one of the past."""
    mine, generation = view.mine, word.generation
    if word.stage is not Stage.READYING or generation is None or generation.number <= mine.known:
        return 0
    if awaits_record(word, view, rules):
        return 0
    mine_too = mine.who in generation.members and generation.digest == mine.digest
    able = mine.surveyed and mine.quiet and not mine.children and not mine.stopping
    seen = mine.passes is None or generation.resume is None or generation.resume in mine.passes
    return generation.number if mine_too and able and seen else 0


def _over(verdict: Outcome, leader: Heard, view: View, rules: Rules) -> Orders:
    """Return the orders of a verdict. It may have been read in the record while the leader hears nothing from here.

    Then the leader counts this member as lost, and says that nothing runs any more, so that the lease still holds.
    """
    mine = view.mine
    until = alive_until(leader.sent, rules.limits) if mine.ready and not view.leads else None
    return Orders(ready=mine.ready, verdict=verdict, kill=until is not None and view.now >= until, until=until)


def _in_generation(heard: Heard, word: LeaderMessage | None, view: View, rules: Rules) -> Orders:
    number, leader = view.mine.ready, view.name(view.order[0])
    until = children_until(heard, word, view, rules.limits)
    if view.now >= until:
        who = "a member" if view.leads else f"the leader, {leader},"
        return Orders(end=ended(f"{who} has not answered in time"), kill=True)
    if heard.refused:
        return Orders(end=ended(f"the leader, {leader}, is gone"), until=until)
    if word is None or word.number != number:
        return Orders(end=ended(f"the leader, {leader}, was started again"), until=until)
    if word.stage is Stage.GATHERING:
        kill = view.record.highest > number
        reason = word.cause.reason if word.cause else "the generation ended"
        return Orders(end=ended(reason), kill=kill, until=until)
    run = _MAY_RUN.get(word.stage, MayRun.NOTHING)
    return Orders(
        ready=number,
        run=run,
        check=word.stage is Stage.CHECKING,
        look=word.look,
        leaving=word.stage is Stage.LEAVING,
        window=word.window,
        until=until,
    )


def ended(reason: str) -> Outcome:
    """Return how a generation ends for a member of it that goes on."""
    return Outcome(code=Code.GANG, reason=reason)
