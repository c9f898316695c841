"""How a generation ends that is to end as planned: who is told when, and until when programs go on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launcher.contract import Code
from launcher.pod.gang.protocol.follower import follow, instructed
from launcher.pod.gang.protocol.leader import due_again, lead
from launcher.pod.gang.protocol.leader_state import Lead
from launcher.pod.gang.protocol.messages import Failure, Leaving, Marks, Stage, Status
from launcher.pod.gang.protocol.planned.leaving import (
    PlannedEnd,
    call_agreed,
    is_due,
    may_go_on,
    plan_end,
    window_of,
)
from launcher.pod.gang.protocol.planned.new_pass import SAVED, PassLook
from launcher.pod.gang.protocol.state import Recorded, View
from launcher.pod.programs.policy import Instructions
from launcher.pod.settings.nouns import Resize, Role, Width
from tests.support.gang_world.views import NOW, READY, RULES, TRAINING, gang, heard, of, status, view, who

RULES = replace(RULES, window=12.5)
ASKS = Marks(leave=0)
TOLD = Failure(generation=1, code=Code.GANG, reason="node 2 was told to stop", address="10.0.0.2", told=True)
LEAVING = Leaving(why="node 2 was told to stop", seconds=12.5)


@pytest.mark.parametrize(
    ("marks", "noticed", "seconds"),
    [((Marks(), Marks()), False, 0.0), ((Marks(), ASKS), False, 12.5), ((Marks(),), True, 12.5), ((), False, 0.0)],
)
def test_there_is_a_while_only_where_a_program_asks_or_gets_a_signal(
    marks: tuple[Marks, ...], noticed: bool, seconds: float
) -> None:
    assert window_of(marks, replace(RULES, noticed=noticed)) == seconds


@pytest.mark.parametrize(
    ("cause", "facts", "goes_on"),
    [
        (TOLD, {}, True),
        (replace(TOLD, address=""), {}, True),
        (TOLD, {"refused": True}, False),
        (TOLD, {"sent": NOW - 11}, False),
        (replace(TOLD, told=False), {}, False),
    ],
)
def test_only_a_plan_lets_a_generation_go_on_and_only_while_who_leaves_is_there(
    cause: Failure, facts: dict[str, float], goes_on: bool
) -> None:
    assert may_go_on(cause, of(view(), 2, **facts), RULES) is goes_on


@pytest.mark.parametrize(
    ("calls", "call"),
    [((4, 5, 4), 5), ((1, 1), 1), ((0, 5), 0), ((None, 5), 0), ((None, None), 0), ((), 0)],
)
def test_all_are_told_at_the_first_call_that_none_has_left(calls: tuple[int | None, ...], call: int) -> None:
    marks = [Marks(leave=each) for each in calls]
    assert call_agreed(LEAVING, marks).call == call
    assert call_agreed(replace(LEAVING, call=7), marks).call == 7


END = PlannedEnd(cause=TOLD, until=NOW + 5, passes=PassLook(asked=NOW, first=1))
RUNS = [replace(each, children=1) for each in READY]
AT_LAST = Marks(at=(f"{SAVED}1)",))


@pytest.mark.parametrize(
    ("before", "statuses", "due"),
    [
        (END, RUNS, False),
        (replace(END, until=NOW), RUNS, True),
        (END, [replace(each, marks=AT_LAST) for each in RUNS], True),
        (replace(END, passes=PassLook(asked=NOW, first=0)), RUNS, True),
        (END, [replace(each, children=0) for each in RUNS], True),
        (END, [replace(each, who=replace(each.who, role=Role.PSERVER)) for each in RUNS[:1]], True),
    ],
    ids=[
        "nothing yet",
        "its time is up",
        "all have saved",
        "a pass came",
        "all have ended",
        "a pserver is no trainer",
    ],
)
def test_the_while_is_over_once_nothing_is_waited_for(before: PlannedEnd, statuses: list[Status], due: bool) -> None:
    seen = view(record=Recorded(newest=0, read=NOW))
    assert is_due(before, 1, statuses, seen)[1] is due


def test_what_is_said_has_the_seconds_and_what_is_kept_their_end() -> None:
    mine, told = plan_end(TOLD, 12.5, view())
    assert (mine.until, told) == (NOW + 12.5, LEAVING)


# The same by the leader's and the members' own decisions.

IN_TRAINING = Lead(word=replace(TRAINING, window=12.5), since=NOW)
STOPPED = replace(RUNS[1], stopping=True)


def leaver() -> View:
    return view(*(replace(each, marks=ASKS) for each in (RUNS[0], STOPPED, RUNS[2])))


def test_a_leader_lets_programs_go_on_and_then_ends_them_by_the_first_plan() -> None:
    before = lead(replace(IN_TRAINING, word=TRAINING), view(*(replace(each, marks=ASKS) for each in RUNS)), RULES)
    assert (before.word.stage, before.word.window) == (Stage.TRAINING, 12.5)
    after = lead(before, leaver(), RULES)
    assert (after.word.stage, after.word.leaving) == (
        Stage.LEAVING,
        replace(LEAVING, why="10.0.0.2 was told to stop"),
    )
    assert due_again(after, leaver(), RULES) is not None
    heard_by_all = [replace(each, marks=Marks(leave=n)) for n, each in enumerate((RUNS[0], STOPPED, RUNS[2]), 3)]
    told = lead(after, view(*heard_by_all), RULES)
    assert told.word.leaving
    assert (told.word.stage, told.word.leaving.call) == (Stage.LEAVING, 5)
    over = lead(told, view(*heard_by_all, now=NOW + 12.5), RULES)
    assert (over.word.stage, over.word.cause, over.leave) == (Stage.GATHERING, told.leave and told.leave.cause, None)
    gone = lead(told, of(view(*heard_by_all), 2, refused=True), RULES)
    assert gone.word.cause == (told.leave and told.leave.cause)
    assert gone.word.leaving is None
    lost = lead(told, of(view(*heard_by_all), 3, refused=True), RULES)
    assert lost.word.cause
    assert not lost.word.cause.told


def test_where_nobody_asks_a_stop_ends_the_generation_at_once() -> None:
    after = lead(Lead(word=TRAINING, since=NOW), view(RUNS[0], STOPPED, RUNS[2]), RULES)
    assert (after.word.stage, after.leave) == (Stage.GATHERING, None)


def test_trainers_that_were_done_before_they_heard_of_it_are_done() -> None:
    before = lead(IN_TRAINING, leaver(), RULES)
    done = [replace(each, trained=1, marks=ASKS) for each in (RUNS[0], STOPPED, RUNS[2])]
    after = lead(before, view(*done), RULES)
    assert (after.word.stage, after.word.leaving, after.leave) == (Stage.CHECKING, None, None)


WIDTH = Width(least=2, most=5, settle=30.0, shrink_after=60.0, resize=Resize.NOW)


def test_others_that_are_to_take_part_now_wait_for_the_while_and_none_is_needed_after_a_pass() -> None:
    rules = replace(RULES, width=WIDTH)
    fourth = heard(status(4, digest="four"))
    order = tuple(who(number).address for number in (1, 2, 3, 4))

    def seen(marks: Marks) -> View:
        facts = view(*(replace(each, marks=marks) for each in RUNS), newest=order, newest_digest="four")
        return replace(facts, heard={**facts.heard, order[3]: fourth})

    after = lead(Lead(word=TRAINING, since=NOW), seen(ASKS), rules)
    assert after.word.leaving
    assert (after.word.stage, after.word.leaving.why) == (Stage.LEAVING, "1 pod is ready to take part")
    saved = lead(Lead(word=TRAINING, since=NOW), seen(replace(ASKS, at=AT_LAST.at)), rules)
    assert saved.word.stage is Stage.GATHERING
    assert saved.word.cause
    assert saved.word.cause.told


def test_a_member_goes_on_and_knows_since_when_all_ends_soon() -> None:
    leader = replace(RUNS[0], word=replace(TRAINING, stage=Stage.LEAVING, generation=gang(), window=12.5))
    orders = follow(view(leader, RUNS[1], mine=2), RULES)
    assert (orders.leaving, orders.window, orders.end) == (True, 12.5, None)
    first = instructed(Instructions(), orders, NOW)
    assert (first.leaving, first.window, first.cause) == (NOW, 12.5, None)
    assert instructed(first, orders, NOW + 1).leaving == NOW
