"""What a leader notes of a gang's progress: each new pass, now and then a step, and the last of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from launcher.contract import Code
from launcher.pod.gang.protocol.member import Member
from launcher.pod.gang.protocol.messages import Failure, LeaderMessage, Marks, Status, Trainer
from launcher.pod.gang.store.run_events import RunEvents
from tests.support.gang_world.views import ENDED, NOW, READY, RULES, TRAINING, heard, status


class Story:
    """The events beside one trainer's leader, and the progress that it noted."""

    def __init__(self, *, known: int = 1) -> None:
        self.noted: list[dict[str, object]] = []
        self.ends: list[str] = []
        self.tails: list[object] = []
        self.started: dict[str, object] = {}
        self._member = Member(status=status(1, known=known), rules=RULES)
        self._run_events = RunEvents(self._put, job="job", facts={"command": "train"})

    def look(
        self,
        seconds: float,
        progress: Mapping[str, float],
        word: LeaderMessage = TRAINING,
        failure: Failure | None = None,
    ) -> None:
        self.hears(seconds, replace(READY[1], marks=Marks(progress=progress), failure=failure), word)

    def hears(self, seconds: float, its: Status, word: LeaderMessage = TRAINING) -> None:
        self._member.lead = replace(self._member.lead, word=word)
        self._run_events.look(NOW + seconds, self._member, {"10.0.0.2": heard(its)})

    def steps(self) -> list[object]:
        return [facts["step"] for facts in self.noted]

    def _put(self, event: str, **facts: object) -> None:
        if event == "progress":
            self.noted.append(facts)
        elif event in ("lost", "failure"):
            self.ends.append(event)
            self.tails.append(facts.get("tail"))
        elif event == "run_started":
            self.started = facts


def test_progress_has_a_trainers_place_and_its_metrics_apart() -> None:
    story = Story()
    story.look(0, {"pass": 1, "step": 2, "cost": 0.5})
    (noted,) = story.noted
    where = {"generation": 1, "role": "trainer", "rank": None, "address": "10.0.0.2"}
    assert noted == {**where, "pass": 1, "step": 2, "metrics": {"cost": 0.5}}


def test_of_several_trainers_in_a_pod_each_is_noted_with_its_own_rank_and_the_pod_s() -> None:
    story = Story()
    for step in (1, 1, 2):
        several = (
            Trainer(marks=Marks(progress={"pass": 0, "step": 1})),
            Trainer(marks=Marks(progress={"step": step})),
        )
        story.hears(step * 10, replace(READY[1], rank=1, several=several))
    where = {"generation": 1, "role": "trainer", "address": "10.0.0.2", "node_rank": 1, "metrics": {}}
    assert story.noted == [
        {**where, "rank": 2, "pass": 0, "step": 1},
        {**where, "rank": 3, "pass": None, "step": 1},
        {**where, "rank": 3, "pass": None, "step": 2},
    ]


def test_a_report_at_every_step_is_a_line_in_five_seconds() -> None:
    story = Story()
    for tick in range(60):
        story.look(tick / 5, {"pass": 1, "step": tick})
    assert story.steps() == [0, 25, 50]


def test_a_new_pass_is_noted_at_once() -> None:
    story = Story()
    for step, number in enumerate((1, 1, 2, 2, 3)):
        story.look(step / 5, {"pass": number, "step": step})
    assert story.steps() == [0, 2, 4]


def test_what_came_last_is_noted_when_its_time_comes_and_only_once() -> None:
    story = Story()
    for seconds in (0, 1, 4, 5, 6, 20):
        story.look(seconds, {"step": min(seconds, 1)})
    assert story.steps() == [0, 1]


def test_what_came_last_is_noted_when_training_ends() -> None:
    story = Story()
    story.look(0, {"step": 0})
    story.look(1, {"step": 1})
    story.look(2, {"step": 1}, ENDED)
    assert story.steps() == [0, 1]


LOST = Failure(generation=1, code=Code.GANG, reason="node 1 was told to stop", address="10.0.0.2")


@pytest.mark.parametrize(
    ("cause", "told", "event"),
    [
        (LOST, None, "lost"),
        (LOST, replace(LOST, reason="another"), "lost"),
        (LOST, LOST, "failure"),
        (replace(LOST, code=7), replace(LOST, code=7), "failure"),
        (replace(LOST, address=""), None, "failure"),
    ],
    ids=["a pod", "a pod that had failed before", "a program exited with 76", "a program", "the gang as a whole"],
)
def test_a_pod_is_lost_where_the_leader_found_it_and_a_failure_is_what_a_member_told(
    cause: Failure, told: Failure | None, event: str
) -> None:
    story = Story()
    story.look(0, {}, replace(ENDED, cause=cause), told)
    assert story.ends == [event]


@pytest.mark.parametrize(("tail", "noted"), [("its last\nwords", "its last\nwords"), ("", None)])
def test_a_failure_has_the_last_lines_of_who_failed_where_there_are_any(tail: str, noted: str | None) -> None:
    story = Story()
    story.look(0, {}, replace(ENDED, cause=replace(LOST, tail=tail)), None)
    assert story.tails == [noted]


def test_a_run_begins_with_what_is_known_of_its_job() -> None:
    story = Story(known=0)
    story.look(0, {})
    assert {name: story.started[name] for name in ("job", "command")} == {"job": "job", "command": "train"}
