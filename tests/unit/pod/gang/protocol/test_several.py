"""What a member says of its pod's trainers: of one as it always has, of several each by its number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launcher.pod.gang.protocol.member import Member
from launcher.pod.gang.protocol.messages import Marks, Pace, Status, Trainer, Wait
from launcher.pod.gang.protocol.state import TrainerState
from launcher.pod.gang.status.peer_states import news, with_progress
from tests.support.gang_world.views import RULES, status

STEP, PASS = Marks(progress={"step": 7}), Marks(at=("b",), progress={"pass": 3.0})
WAITS = (Wait(name="b"),)


def member(count: int) -> Member:
    several = (Trainer(),) * count if count > 1 else ()
    return Member(status=status(1, ready=2, several=several), rules=RULES)


def running(its: Member, *trainers: TrainerState) -> Status:
    its.report(children=True, serving=True, trained=False, trainers=trainers)
    return its.status


def test_a_single_trainer_is_told_of_by_the_status_itself() -> None:
    one = member(1)
    one.mark([PASS], 0, 0)
    told = running(one, TrainerState(done=True, waits=WAITS))
    assert (told.marks, told.at_pass, told.waits, told.trained, told.several) == (PASS, 3, WAITS, 0, ())


def test_several_trainers_are_told_of_each() -> None:
    two = member(2)
    two.mark([STEP, PASS], 0, 0)
    told = running(two, TrainerState(done=True), TrainerState(waits=WAITS))
    assert told.several == (Trainer(marks=STEP, trained=2), Trainer(marks=PASS, at_pass=3, waits=WAITS))
    assert told.trainers == told.several
    assert (told.marks, told.at_pass, told.waits, told.trained) == (Marks(), None, (), 0)
    two.mark([PASS, PASS], 0, 0)
    assert two.status.several == (Trainer(marks=PASS, at_pass=3, trained=2), told.several[1])


def test_of_trainers_that_rest_nothing_is_told_but_what_they_said() -> None:
    two = member(2)
    two.mark([STEP, PASS], 0, 0)
    running(two, TrainerState(done=True), TrainerState(waits=WAITS))
    two.rest()
    assert two.status.several == (Trainer(marks=STEP), Trainer(marks=PASS, at_pass=3))


@pytest.mark.parametrize("count", [1, 2])
def test_a_step_of_any_trainer_is_no_news_and_a_pass_is(count: int) -> None:
    its = member(count)
    its.mark([STEP] * count, 0, 0)
    before = its.status
    its.mark([*[STEP] * (count - 1), replace(STEP, progress={"step": 8}, pace=Pace(steps=1))], 0, 0)
    assert (its.status != before, news(its.status)) == (True, news(before))
    assert with_progress(its.status, [(STEP.progress, None)] * count) == before
    its.mark([*[STEP] * (count - 1), PASS], 0, 0)
    assert news(its.status) != news(before)
