"""What the leader says next: a pure function of what it said before and of all that it knows.

No I/O here. A generation needs every member, in each of its stages; the first thing that goes wrong ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from launcher.contract import NO_RESTART, Code
from launcher.pod.gang.protocol.barriers import deadlocked, gathered
from launcher.pod.gang.protocol.gathering import gather_members
from launcher.pod.gang.protocol.leader_state import (
    FIRST_QUESTION,
    SEALING,
    Lead,
    end_if_overdue,
    failure_noted,
    failure_of,
    on_its_node,
    patience,
    seal,
    sealed,
    sealing,
    spent_of,
    statuses_of,
)
from launcher.pod.gang.protocol.lease import alive_until, lost_at, strangers_until
from launcher.pod.gang.protocol.looks import explained, looked_around
from launcher.pod.gang.protocol.messages import Failure, LeaderMessage, Marks, Stage
from launcher.pod.gang.protocol.planned.leaving import call_agreed, is_due, may_go_on, plan_end, window_of
from launcher.pod.gang.protocol.planned.new_pass import all_saved
from launcher.pod.gang.protocol.planned.width import Growth, grown, has_another_order
from launcher.pod.gang.protocol.reasons import deserted, lacking, told
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
        after = gather_members(before, view, rules)
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
