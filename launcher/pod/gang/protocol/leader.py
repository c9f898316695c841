"""What the leader says next: a pure function of what it said before and of all that it knows.

No I/O here. A generation needs every member, in each of its stages; the first thing that goes wrong ends it.
"""

from __future__ import annotations

from dataclasses import replace

from launcher.contract import NO_RESTART, Code
from launcher.pod.gang.protocol.barriers import deadlocked, gathered
from launcher.pod.gang.protocol.leader_state import (
    FIRST_QUESTION,
    SEALING,
    Lead,
    awaits_askers,
    end_if_overdue,
    failure_of,
    number_of,
    outlived,
    patience,
    replaced,
    resume_for,
    seal,
    sealed,
    sealing,
    statuses_of,
)
from launcher.pod.gang.protocol.lease import alive_until, lost_at, strangers_until
from launcher.pod.gang.protocol.messages import Failure, Generation, LeaderMessage, Stage, Status
from launcher.pod.gang.protocol.reasons import deserted, lacking, told, unequal, unmet, unrecorded, unstaged
from launcher.pod.gang.protocol.state import Rules, View
from launcher.pod.outcome import Outcome
from launcher.pod.settings.nouns import Role

# Every way from one stage to the next. A stage also lasts; from OVER there is none.
TRANSITIONS = {
    (Stage.GATHERING, Stage.READYING): "every member is there with its data, runs nothing, and the record is made",
    (Stage.READYING, Stage.SERVING): "every member is ready",
    (Stage.READYING, Stage.GATHERING): "a member is lost, told to stop, or started again",
    (Stage.SERVING, Stage.TRAINING): "every pserver accepts connections",
    (Stage.SERVING, Stage.GATHERING): "a pserver failed, or a member is lost",
    (Stage.TRAINING, Stage.GATHERING): "a child failed, a member is lost, or a wait cannot end",
    (Stage.TRAINING, Stage.CHECKING): "every trainer is done",
    (Stage.CHECKING, Stage.GATHERING): "a pserver is found dead or stopped, or its pod is lost",
    (Stage.CHECKING, Stage.OVER): "every pserver was looked at and is well, and the verdict is sealed",
    (Stage.READYING, Stage.OVER): "the verdict of another leader stands in the record",
    (Stage.SERVING, Stage.OVER): "the verdict of another leader stands in the record",
    (Stage.TRAINING, Stage.OVER): "the verdict of another leader stands in the record",
    (Stage.GATHERING, Stage.OVER): "a failure that no restart cures, no restart left, or the deadline",
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
        after = _end(before, cause, view, rules)
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
    times = [time for time in (lead.not_before, lead.hold) if time > view.now]
    if lead.rival and strangers_until(lead.rival, limits) > view.now:
        times.append(strangers_until(lead.rival, limits))
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
    before = outlived(before, view, rules) if replaced(view) else replace(before, rival=0.0)
    if before.rival and view.now < strangers_until(before.rival, rules.limits):
        waiting = f"generation {view.record.highest} was made without this pod, which is to end"
        return replace(before, asked=None, word=replace(before.word, waiting=waiting))
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
    if fatal and not awaits_askers(before, view, rules):
        return seal(before, fatal, view)
    if not (waiting or view.record.known):
        waiting = unrecorded(view, "read")
    if waiting or view.now < before.not_before:
        return replace(before, word=replace(before.word, waiting=waiting))
    if asked and view.record.highest < asked.number:
        return replace(before, word=replace(before.word, waiting=unrecorded(view, "written")))
    return _ask(before, view, rules)


def _calm(view: View) -> bool:
    """Return whether every member is heard, and none runs anything or is about to; nor does an earlier run."""
    statuses = statuses_of(view)
    here = len(statuses) == len(view.order) and not view.record.held
    return here and not any(each.children or each.ready for each in statuses)


def _ask(before: Lead, view: View, rules: Rules) -> Lead:
    statuses = statuses_of(view)
    recorded = view.record.latest
    if recorded and max(status.known for status in statuses) < recorded.number == view.record.made:
        return _asked(before, recorded, view)  # it was made, and given up before anybody was ready: it spends nothing
    last = max((each for each in (before.word.generation, recorded) if each), key=number_of, default=None)
    leader = last.members[0].address if last else ""
    lost = f"{view.name(leader)}, the leader, was lost" if leader else "the leader was lost"
    newest = max(number_of(last), *(status.known for status in statuses))
    stopped = newest > 0 and newest in (view.record.stopped, *(status.stopped for status in statuses))
    found = Failure(generation=number_of(last), code=Code.GANG, reason=lost, address=leader, told=stopped)
    cause = before.word.cause or found
    # The record may have been read before the last generation was in it, or there is none: the members know, too.
    before_it = [status.restarts for status in statuses if status.known] + ([last.restarts] if last else [])
    spent, free = max(before_it, default=0), cause.told or not before_it
    if not free and spent >= rules.restarts:
        return seal(before, cause, view, spent=spent)
    unknown = recorded is not None and not _vouched(recorded, statuses)
    like = Generation(
        number=newest,
        members=(),
        digest="",
        restarts=spent if free else spent + 1,
        cause=cause.reason if before_it else "",
    )
    return _asked(replace(before, hold=view.now if unknown else before.hold), like, view)


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
    return replace(before, asked=generation, tried=generation.number, word=waiting)


def _vouched(recorded: Generation, statuses: list[Status]) -> bool:
    """Return whether a member here was there, or every member there is here again as another process 1."""
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
        if why := deserted(who, word, view, rules):
            stopped = told(who, view)
            return Failure(generation=number, code=Code.GANG, reason=why, address=who.address, told=stopped)
    return None


def _end(before: Lead, cause: Failure, view: View, rules: Rules) -> Lead:
    generation = before.word.generation
    none_left = generation is not None and generation.restarts >= rules.restarts
    if cause.code in NO_RESTART or (none_left and not cause.told):
        return seal(before, cause, view, spent=generation.restarts if generation else 0)
    lived = view.now - before.begun if before.begun is not None else 0.0
    of_a_program = cause == failure_of(view, generation)  # not by its code: a program may exit with any
    quick = before.quick + 1 if of_a_program and lived < _SOON else 0
    pause = min(2.0 ** (quick - 2), SLOWEST) if quick > 1 else 0.0
    word = LeaderMessage(generation=generation, cause=cause)
    return replace(before, word=word, quick=quick, not_before=view.now + pause)


def _advance(before: Lead, view: View, rules: Rules) -> Lead:
    """Go on to the next stage when every member has come to the end of this one."""
    word, statuses = before.word, statuses_of(view)
    waiting = next((why for address in view.order if (why := lacking(address, word, view))), "")
    if word.stage is Stage.TRAINING:
        pods = [status for status in statuses if status.who.role is not Role.PSERVER]
        trainers = [trainer for status in pods for trainer in status.trainers]
        marks = [trainer.marks for trainer in trainers]
        passed, shared = gathered(marks, word, len(view.mine.trainers))
        word = replace(word, passed=passed, shared=shared)
        if len(statuses) == len(view.order) and (why := deadlocked(trainers, word)):
            cause = Failure(generation=word.number, code=Code.GANG, reason=why)
            return _end(replace(before, word=word), cause, view, rules)
    if waiting or view.now < before.hold:
        return replace(before, word=replace(word, waiting=waiting))
    if word.stage is Stage.READYING:
        return replace(before, hold=0.0, word=replace(word, stage=Stage.SERVING, waiting=""))
    if word.stage is Stage.SERVING:
        return replace(before, begun=view.now, word=replace(word, stage=Stage.TRAINING, waiting=""))
    if word.stage is Stage.TRAINING:
        return replace(before, word=replace(word, stage=Stage.CHECKING, waiting=""))
    return sealing(replace(before, word=word), Outcome(code=0, reason="every trainer is done"), view)
