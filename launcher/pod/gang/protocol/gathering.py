"""How the leader makes the next generation: of whom, once all are there with their data, and what the last one cost.

No I/O here. Until then it waits, and says for whom; or it seeks the verdict, where no other start would help.
"""

from __future__ import annotations

from dataclasses import replace

from launcher.contract import Code
from launcher.pod.gang.protocol.budget import following, hopeless, reached_by, spent_by
from launcher.pod.gang.protocol.leader_state import (
    SEALING,
    Lead,
    awaits_askers,
    failure_noted,
    failure_of,
    number_of,
    on_its_node,
    outlived,
    replaced,
    resume_for,
    seal,
    spent_of,
    statuses_of,
)
from launcher.pod.gang.protocol.lease import strangers_until
from launcher.pod.gang.protocol.messages import Failure, Generation, LeaderMessage, Stage, Status
from launcher.pod.gang.protocol.planned.width import Growth, goes_on_without, has_no_part, is_of_the_run, too_few
from launcher.pod.gang.protocol.reasons import unequal, unmet, unrecorded, unstaged
from launcher.pod.gang.protocol.state import Rules, View


def gather_members(before: Lead, view: View, rules: Rules) -> Lead:
    """Make the next generation once all members are there."""
    outside = has_no_part(view) if rules.width else replaced(view)
    before = outlived(before, view, rules) if outside else replace(before, rival=0.0)
    if before.rival and view.now < strangers_until(before.rival, rules.limits):
        waiting = goes_on_without(view) if rules.width else ""
        waiting = waiting or f"generation {view.record.highest} was made without this pod, which is to end"
        return replace(before, asked=None, word=replace(before.word, waiting=waiting))
    if before.doubt is not None:
        before = _beyond_doubt(before, view, rules)
    if before.sealing or before.doubt is not None:
        return before
    asked = before.asked
    waiting = unmet(view, rules)
    before = replace(before, staged=not unstaged(view, rules), word=replace(before.word, calm=_calm(view)))
    if asked and (waiting or asked.digest != view.mine.digest):
        before, asked = replace(before, asked=None), None
    # All are there still, this leader too: it is ready at once, so that ready no more means that it ended.
    if asked and view.record.made == asked.number >= view.record.highest:
        # They can know of it only from now on; and one who sleeps through it is killed when it wakes.
        hold = strangers_until(view.now, rules.limits) if before.hold else 0.0
        return replace(
            before, asked=None, begun=None, hold=hold, word=LeaderMessage(stage=Stage.READYING, generation=asked)
        )
    fatal = failure_of(view, None) or unequal(view)
    before = replace(before, failed=(before.failed or view.now) if fatal else None)
    ends = fatal and is_of_the_run(fatal, before.failed or 0.0, view, rules)
    if fatal and ends and not awaits_askers(before, view, rules):
        return seal(before, fatal, view)
    waiting = waiting or (fatal.reason if fatal and not ends else "")
    if not (waiting or view.record.known):
        waiting = unrecorded(view, "read")
    if waiting or view.now < before.not_before:
        return replace(before, word=replace(before.word, waiting=waiting))
    if asked and view.record.highest < asked.number:
        return replace(before, word=replace(before.word, waiting=unrecorded(view, "written")))
    return _ask(before, view, rules)


def _beyond_doubt(before: Lead, view: View, rules: Rules) -> Lead:
    """Learn whether the last generation has completed a pass, which gives a restart back; else it was the last one.

    A volume that hangs is waited for no longer than it is for a verdict. Another leader may have gone on meanwhile.
    """
    word, since = before.word, before.doubt or 0.0
    gained = word.generation and spent_by(word.generation, reached_by(view.record.newest)) < rules.restarts
    if gained or view.record.highest > word.number:
        return replace(before, doubt=None)
    if word.cause and (view.record.read >= since or view.now >= since + SEALING):
        return seal(replace(before, doubt=None), word.cause, view, spent=spent_of(word.generation))
    return replace(before, word=replace(word, waiting="it is looked whether a pass was completed"))


def _calm(view: View) -> bool:
    """Return whether every member is heard, and none runs anything or is about to; nor does an earlier run."""
    statuses = statuses_of(view)
    here = len(statuses) == len(view.order) and not view.record.held
    return here and not any(each.children or each.ready for each in statuses)


def _ask(before: Lead, view: View, rules: Rules) -> Lead:
    statuses = statuses_of(view)
    recorded = view.record.latest
    reached = reached_by(resume_for([status.passes for status in statuses]), view.record.newest)
    if recorded and max(status.known for status in statuses) < recorded.number == view.record.made:
        # It was made, and given up before anybody was ready: it spends nothing.
        return _asked(before, replace(recorded, reached=max(recorded.reached, reached)), view)
    last = max((each for each in (before.word.generation, recorded) if each), key=number_of, default=None)
    newest = max(number_of(last), *(status.known for status in statuses))
    stopped = newest > 0 and newest in (view.record.stopped, *(status.stopped for status in statuses))
    cause = before.word.cause if before.word.number == newest else None  # else of an earlier one
    if cause is None:
        cause = on_its_node(_unheard(last, view, stopped=stopped), view)
        before = replace(before, ended=failure_noted(cause, view))
    if newest == 0 and rules.width and (waiting := too_few(view, rules)):
        return replace(before, word=replace(before.word, waiting=waiting))
    if newest == 0:
        return _asked(before, Generation(number=0, members=(), digest="", reached=reached), view)
    if last is None or last.number < newest:
        last = _by_members(statuses, newest, reached)
    trained = before.begun is not None or before.word.number != newest  # another leader may have trained with it
    known = {who.boot for who in last.members}
    # Where pods only leave, it comes to an end by itself.
    moved = any(status.who.boot not in known for status in statuses)
    planned = rules.width is not None and cause.told and trained and moved
    like = following(last, cause, reached, planned=planned)
    if repeated := hopeless(cause, like):
        return seal(before, repeated, view)
    if like.restarts > last.restarts and like.spent > rules.restarts:
        return seal(before, cause, view, spent=like.spent - 1)
    unknown = recorded is not None and not _vouched(recorded, statuses, view)
    before = replace(before, hold=view.now if unknown else before.hold)
    return _asked(before, replace(like, after_strangers=bool(before.hold)), view)


def _unheard(last: Generation | None, view: View, *, stopped: bool) -> Failure:
    """Return why another launcher's generation ended, by what can be known of it without that leader's word.

    One that is here still, and was not told to stop itself, ended it for those who come or go.
    """
    found = Failure(generation=number_of(last), code=Code.GANG, reason="", told=stopped)
    lost = f"was {'told to stop' if stopped else 'lost'}"
    if last is None:
        return replace(found, reason=f"the leader {lost}")
    leader = last.members[0]
    heard = view.of(leader.address)
    here = heard.is_of(leader.boot) and not heard.refused and heard.status is not None and not heard.status.stopping
    if stopped and here:
        return replace(found, reason=f"generation {last.number} ended as planned: others take part now")
    return replace(found, reason=f"{view.name(leader.address)}, the leader, {lost}", address=leader.address)


def _by_members(statuses: list[Status], newest: int, reached: int) -> Generation:
    """Return what is known of a generation by its members alone.

    The record may have been read before the generation was in it, or there is none.
    """
    knows = next(status for status in statuses if status.known == newest)
    known = Generation(number=newest, members=(), digest="", reached=reached)
    return replace(known, restarts=knows.restarts, regained=knows.regained)


def _asked(before: Lead, like: Generation, view: View) -> Lead:
    """Ask for a generation of those who are here, above all numbers; it has another's restarts and cause."""
    statuses = statuses_of(view)
    generation = replace(
        like,
        number=max(view.record.highest, before.tried, like.number) + 1,
        members=tuple(status.who for status in statuses),
        digest=view.mine.digest,
        resume=resume_for([status.passes for status in statuses]),
    )
    waiting = replace(before.word, waiting=unrecorded(view, "written"))
    return replace(before, asked=generation, tried=generation.number, word=waiting, growth=Growth())


def _vouched(recorded: Generation, statuses: list[Status], view: View) -> bool:
    """Return whether nothing of the recorded generation runs, or a member of it is here and knows what does.

    Its leader has written so, a member here was there, or every member is here again as another process 1.
    Nobody who was there can say that one of an earlier generation ended, if theirs had not begun when it was over.
    """
    if recorded.after_strangers and view.begun < recorded.number:
        return False
    if view.record.rested == recorded.number:
        return True
    boots = {status.who.boot for status in statuses}
    pods = {status.who.pod for status in statuses if status.lone}
    known = any(who.boot in boots for who in recorded.members)
    return known or all(who.pod in pods for who in recorded.members)
