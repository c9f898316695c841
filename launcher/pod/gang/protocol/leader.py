"""What the leader says next: a pure function of what it said before and of all that it knows.

No I/O here. A generation needs every member, in each of its stages; the first thing that goes wrong ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from launcher.contract import NO_RESTART, Code
from launcher.pod.gang.protocol.barriers import deadlocked, gathered
from launcher.pod.gang.protocol.budget import following, hopeless, reached_by, spent_by
from launcher.pod.gang.protocol.leader_state import (
    FIRST_QUESTION,
    SEALING,
    Lead,
    awaits_askers,
    end_if_overdue,
    failure_noted,
    failure_of,
    number_of,
    on_its_node,
    outlived,
    patience,
    replaced,
    resume_for,
    seal,
    sealed,
    sealing,
    spent_of,
    statuses_of,
)
from launcher.pod.gang.protocol.lease import alive_until, lost_at, strangers_until
from launcher.pod.gang.protocol.looks import explained, looked_around
from launcher.pod.gang.protocol.messages import Failure, Generation, LeaderMessage, Marks, Stage, Status
from launcher.pod.gang.protocol.planned.leaving import call_agreed, is_due, may_go_on, plan_end, window_of
from launcher.pod.gang.protocol.planned.new_pass import all_saved
from launcher.pod.gang.protocol.planned.width import (
    Growth,
    goes_on_without,
    grown,
    has_another_order,
    has_no_part,
    is_of_the_run,
    too_few,
)
from launcher.pod.gang.protocol.reasons import deserted, lacking, told, unequal, unmet, unrecorded, unstaged
from launcher.pod.gang.protocol.state import Rules, View
from launcher.pod.outcome import Outcome
from launcher.pod.settings.nouns import Resize, Role

# Every way from one stage to the next. A stage also lasts; from OVER there is none.
TRANSITIONS = {
    (Stage.GATHERING, Stage.READYING): "every member is there with its data, runs nothing, and the record is made",
    (Stage.READYING, Stage.SERVING): "every member is ready",
    (Stage.READYING, Stage.GATHERING): "a member is lost, told to stop, or started again",
    (Stage.SERVING, Stage.TRAINING): "every pserver accepts connections",
    (Stage.SERVING, Stage.GATHERING): "a pserver failed, or a member is lost",
    (Stage.TRAINING, Stage.GATHERING): "a child failed, a member is lost, or a wait cannot end",
    (Stage.TRAINING, Stage.LEAVING): "a member was told to stop, or others are ready, and programs ask for a while",
    (Stage.TRAINING, Stage.CHECKING): "every trainer is done",
    (Stage.LEAVING, Stage.GATHERING): "a pass is saved, every program has ended, or the while is over",
    (Stage.LEAVING, Stage.CHECKING): "every trainer was done already",
    (Stage.CHECKING, Stage.GATHERING): "a pserver is found dead or stopped, or its pod is lost",
    (Stage.CHECKING, Stage.OVER): "every pserver was looked at and is well, and the verdict is sealed",
    (Stage.READYING, Stage.OVER): "the verdict of another leader stands in the record",
    (Stage.SERVING, Stage.OVER): "the verdict of another leader stands in the record",
    (Stage.TRAINING, Stage.OVER): "the verdict of another leader stands in the record",
    (Stage.LEAVING, Stage.OVER): "the verdict of another leader stands in the record",
    (Stage.GATHERING, Stage.OVER): (
        "a failure that no restart cures, no restart left, a failure alike for the third time, or the deadline"
    ),
}
# What another start cannot cure: bad data, a program or a shard that is not there, settings that cannot be right.
# A generation that trained for less than this is one of a crash loop, which goes round ever more slowly.
_SOON = 10.0
SLOWEST = 30.0


def lead(before: Lead, view: View, rules: Rules) -> Lead:
    """Return the next word, and what is asked of the record beside it."""
    if before.word.verdict:
        return before
    if before.sealing or view.record.sealed:
        return sealed(before, view)
    if before.word.stage is Stage.GATHERING and view.mine.stopping:  # it answers those it led, and gives no order
        return replace(before, asked=None)
    if before.word.stage is Stage.GATHERING:
        after = _gather(before, view, rules)
    elif cause := _trouble(before.word, view, rules):
        after = _end_soon(before, explained(before.looks, cause, view.now), view, rules)
    else:
        after = _advance(before, view, rules)
    return end_if_overdue(before, after, view, rules)


def due_again(lead: Lead, view: View, rules: Rules) -> float | None:
    """Return when to look again though nothing is heard."""
    limits = rules.limits
    if lead.word.verdict:
        return None
    if lead.sealing:
        return lead.since + SEALING
    times = [time for time in (lead.not_before, lead.hold, lead.looks_again or 0.0) if time > view.now]
    if lead.word.stage is Stage.TRAINING and lead.looks.due is not None:
        times.append(lead.looks.due)
    if lead.rival and strangers_until(lead.rival, limits) > view.now:
        times.append(strangers_until(lead.rival, limits))
    if lead.doubt is not None:
        times.append(lead.doubt + SEALING)
    if lead.leave:
        times.append(lead.leave.until)
    if lead.word.stage is Stage.GATHERING and lead.since + FIRST_QUESTION > view.now:
        times.append(lead.since + FIRST_QUESTION)
    if lead.word.stage is not Stage.TRAINING:
        times.append(lead.since + patience(lead.word, rules))
    if lead.word.stage is not Stage.GATHERING and lead.word.generation:
        heard = [view.of(who.address) for who in lead.word.generation.members if who.boot != view.mine.who.boot]
        times += [min(lost_at(each.wrote, limits), alive_until(each.sent, limits)) for each in heard]
    return min(times, default=None)


def _gather(before: Lead, view: View, rules: Rules) -> Lead:
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
    leader = last.members[0].address if last else ""
    newest = max(number_of(last), *(status.known for status in statuses))
    stopped = newest > 0 and newest in (view.record.stopped, *(status.stopped for status in statuses))
    who = f"{view.name(leader)}, the leader," if leader else "the leader"
    why = f"{who} was {'told to stop' if stopped else 'lost'}"
    found = Failure(generation=number_of(last), code=Code.GANG, reason=why, address=leader, told=stopped)
    cause = before.word.cause if before.word.number == newest else None  # else of an earlier one
    if cause is None:
        cause = on_its_node(found, view)
        before = replace(before, ended=failure_noted(cause, view))
    if newest == 0 and rules.width and (waiting := too_few(view, rules)):
        return replace(before, word=replace(before.word, waiting=waiting))
    if newest == 0:
        return _asked(before, Generation(number=0, members=(), digest="", reached=reached), view)
    if last is None or last.number < newest:
        last = _by_members(statuses, newest, reached)
    trained = before.begun is not None or before.word.number != newest  # another leader may have trained with it
    like = following(last, cause, reached, planned=rules.width is not None and cause.told and trained)
    if repeated := hopeless(cause, like):
        return seal(before, repeated, view)
    if like.restarts > last.restarts and like.spent > rules.restarts:
        return seal(before, cause, view, spent=like.spent - 1)
    unknown = recorded is not None and not _vouched(recorded, statuses, view)
    before = replace(before, hold=view.now if unknown else before.hold)
    return _asked(before, replace(like, after_strangers=bool(before.hold)), view)


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
    pods = {status.who.uid for status in statuses if status.lone}
    known = any(who.boot in boots for who in recorded.members)
    return known or all(who.uid in pods for who in recorded.members)


def _trouble(word: LeaderMessage, view: View, rules: Rules) -> Failure | None:
    """Return the first thing that ends a generation under way."""
    number = word.number
    if failure := failure_of(view, word.generation):
        return failure
    if view.record.highest > number:
        reason = f"another leader made generation {view.record.highest}"
        return Failure(generation=number, code=Code.GANG, reason=reason)
    if word.generation and word.generation.digest != view.mine.digest:
        return Failure(generation=number, code=Code.GANG, reason="the gang has other members now")
    for who in word.generation.members if word.generation else ():
        elsewhere = has_another_order(who, word, view, rules)
        if why := deserted(who, word, view, rules) or elsewhere:
            stopped = told(who, view) or bool(elsewhere)
            return Failure(generation=number, code=Code.GANG, reason=why, address=who.address, told=stopped)
    return None


def _end_soon(before: Lead, cause: Failure, view: View, rules: Rules) -> Lead:
    """End a generation, as planned after a while where its programs ask for one; the first plan stands."""
    if before.leave and cause.told:
        return _end(before, before.leave.cause, view, rules)
    word = before.word
    if word.stage is not Stage.TRAINING or not word.window or not may_go_on(cause, view, rules):
        return _end(before, cause, view, rules)
    mine, told = plan_end(cause, word.window, view)
    return replace(before, leave=mine, growth=Growth(), word=replace(word, stage=Stage.LEAVING, leaving=told))


def _end(before: Lead, cause: Failure, view: View, rules: Rules) -> Lead:
    """End a generation; where no restart is left the verdict waits for a look at the passes: a new one gives one."""
    generation, cause = before.word.generation, on_its_node(cause, view)
    before = replace(before, ended=failure_noted(cause, view) or before.ended)
    spent = spent_of(generation)
    none_left = spent >= rules.restarts and not cause.told
    looks = none_left and rules.restarts > 0 and view.record.read < view.now
    if cause.code in NO_RESTART or (none_left and not looks):
        return seal(before, cause, view, spent=spent)
    lived = view.now - before.begun if before.begun is not None else 0.0
    own = failure_of(view, generation)  # not by its code: a program may exit with any
    of_a_program = own is not None and (cause.code, cause.address) == (own.code, own.address)
    quick = before.quick + 1 if of_a_program and lived < _SOON else 0
    pause = min(2.0 ** (quick - 2), SLOWEST) if quick > 1 else 0.0
    word = LeaderMessage(generation=generation, cause=cause, found=before.word.found)
    doubt = view.now if none_left else None
    return replace(before, word=word, quick=quick, not_before=view.now + pause, doubt=doubt, leave=None)


def _advance(before: Lead, view: View, rules: Rules) -> Lead:
    """Go on to the next stage when every member has come to the end of this one."""
    word = before.word
    waiting = next((why for address in view.order if (why := lacking(address, word, view))), "")
    if word.stage in (Stage.TRAINING, Stage.LEAVING):
        before, cause = _found_in_training(before, view, rules)
        if cause:
            return _end_soon(before, cause, view, rules)
        word, waiting = before.word, waiting and (before.growth.waiting or waiting)
    if waiting or view.now < before.hold:
        return replace(before, word=replace(word, waiting=waiting))
    if word.stage is Stage.READYING:
        return replace(before, hold=0.0, word=replace(word, stage=Stage.SERVING, waiting=""))
    if word.stage is Stage.SERVING:
        return replace(before, begun=view.now, word=replace(word, stage=Stage.TRAINING, waiting=""))
    if word.stage in (Stage.TRAINING, Stage.LEAVING):
        word = replace(word, stage=Stage.CHECKING, waiting="", leaving=None)
        return replace(before, leave=None, word=word)
    return sealing(replace(before, word=word), Outcome(code=0, reason="every trainer is done"), view)


def _found_in_training(before: Lead, view: View, rules: Rules) -> tuple[Lead, Failure | None]:
    """Return what is found out while trainers run, and for what the generation is to end."""
    looks, word, ending = looked_around(before.looks, before.word, view)
    before = replace(before, looks=looks, word=word)
    if ending:
        return before, ending
    statuses = statuses_of(view)
    pods = [status for status in statuses if status.who.role is not Role.PSERVER]
    trainers = [trainer for status in pods for trainer in status.trainers]
    marks = [trainer.marks for trainer in trainers]
    word = replace(word, window=window_of(marks, rules))
    before, plan = _planned_end(replace(before, word=word), marks, view, rules)
    if plan:
        return before, plan
    word = before.word
    passed, shared = gathered(marks, word, len(view.mine.trainers))
    before = replace(before, word=replace(word, passed=passed, shared=shared))
    if len(statuses) == len(view.order) and (why := deadlocked(trainers, before.word)):
        return before, Failure(generation=word.number, code=Code.GANG, reason=why)
    return before, None


def _planned_end(before: Lead, marks: Sequence[Marks], view: View, rules: Rules) -> tuple[Lead, Failure | None]:
    """Return why this generation ends as planned, now or soon: none goes on after the pass that it waits for."""
    word = before.word
    if before.leave and word.leaving:
        mine, ends = is_due(before.leave, word.number, statuses_of(view), view)
        before = replace(before, leave=mine, word=replace(word, leaving=call_agreed(word.leaving, marks)))
        return before, mine.cause if ends else None
    complete = len(statuses_of(view)) == len(view.order) and all_saved(marks)
    growth, wider = grown(before.growth, word, view, rules, saved=complete)
    if not wider:
        return replace(before, growth=growth), None
    told = Failure(generation=word.number, code=Code.GANG, reason=wider, told=True)
    at_once = rules.width is None or rules.width.resize is not Resize.NOW or complete
    window_now = 0.0 if at_once else word.window  # a pass was saved just now: nothing is lost
    return replace(before, growth=Growth(), word=replace(word, window=window_now)), told
