"""What a leader notes of a gang's progress: each new pass, now and then a step, and the last of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from launcher.contract import Code, Spent
from launcher.pod.gang.protocol.member import Member
from launcher.pod.gang.protocol.messages import Failure, LeaderMessage, Marks, Status, Trainer
from launcher.pod.gang.store.run_events import RunEvents
from tests.support.gang_world.views import ENDED, NOW, READY, READYING, RULES, TRAINING, gang, heard, status, who


class Story:
    """The events beside one trainer's leader, and the progress that it noted."""

    def __init__(self, *, known: int = 1) -> None:
        self.noted: list[dict[str, object]] = []
        self.ends: list[str] = []
        self.tails: list[object] = []
        self.nodes: list[object] = []
        self.started: dict[str, object] = {}
        self.ledgers: list[dict[str, Any]] = []
        self.member = Member(status=status(1, known=known), rules=RULES)
        self.events = RunEvents(
            self._put, job="job", facts={"command": "train"}, seconds=lambda: {Spent.WAITING: 3.5}
        )

    def look(
        self,
        seconds: float,
        progress: Mapping[str, float],
        word: LeaderMessage = TRAINING,
        failure: Failure | None = None,
    ) -> None:
        self.hears(seconds, replace(READY[1], marks=Marks(progress=progress), failure=failure), word)

    def hears(self, seconds: float, its: Status, word: LeaderMessage = TRAINING) -> None:
        self.member.lead = replace(self.member.lead, word=word)
        self.member.heard = {its.who.address: heard(its, came=NOW + seconds - 0.25)}
        self.events.hear(self.member.heard)
        self.events.look(NOW + seconds, self.member, self.member.heard)

    def steps(self) -> list[object]:
        return [facts["step"] for facts in self.noted]

    def _put(self, event: str, **facts: object) -> None:
        if event == "progress":
            self.noted.append(facts)
        elif event in ("lost", "failure"):
            self.ends.append(event)
            self.tails.append(facts.get("tail"))
            self.nodes.append(facts.get("node"))
        elif event == "run_started":
            self.started = facts
        elif event == "ledger":
            self.ledgers.append(facts)


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


@pytest.mark.parametrize(("node", "noted"), [("node-b", "node-b"), ("", None)])
def test_a_failure_has_its_node_where_that_is_known(node: str, noted: str | None) -> None:
    story = Story()
    story.look(0, {}, replace(ENDED, cause=replace(LOST, node=node)), None)
    assert story.nodes == [noted]


def test_a_run_begins_with_what_is_known_of_its_job() -> None:
    story = Story(known=0)
    story.look(0, {})
    assert {name: story.started[name] for name in ("job", "command")} == {"job": "job", "command": "train"}


def seconds_of(number: int, boot: str, trained: float) -> Status:
    return replace(READY[number - 1], who=who(number, boot=boot), seconds={Spent.KEPT: trained})


def lives(ledger: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    return {each["boot"]: each["seconds"] for each in ledger["members"]}


def test_at_the_end_of_a_generation_stands_what_the_seconds_of_each_member_were() -> None:
    story = Story()
    story.hears(0, seconds_of(2, "1", 10.0))
    assert story.ledgers == []
    story.hears(5, seconds_of(2, "1", 12.5), replace(READYING, generation=gang(2)))
    (noted,) = story.ledgers
    assert noted["generation"] == 1
    mine, its = noted["members"]
    own = {"role": "node", "rank": None, "address": "10.0.0.1", "pod": "pod1", "boot": "1.1", "ago": 0.0}
    assert mine == {**own, "seconds": {Spent.WAITING: 3.5}}
    theirs = {"role": "node", "rank": None, "address": "10.0.0.2", "pod": "pod2", "boot": "2.1", "ago": 0.25}
    assert its == {**theirs, "seconds": {Spent.KEPT: 12.5}}


def test_of_a_member_that_is_gone_the_last_that_was_heard_is_noted_and_only_once() -> None:
    story = Story()
    story.hears(0, seconds_of(2, "1", 10.0))
    story.hears(1, seconds_of(2, "2", 0.5))
    story.hears(2, seconds_of(2, "2", 1.0), replace(READYING, generation=gang(2)))
    story.events.close(NOW + 9, story.member)
    first, last = story.ledgers
    assert lives(first) == {"1.1": {Spent.WAITING: 3.5}, "2.1": {Spent.KEPT: 10.0}, "2.2": {Spent.KEPT: 1.0}}
    assert lives(last) == {"1.1": {Spent.WAITING: 3.5}, "2.2": {Spent.KEPT: 1.0}}
    assert [each["ago"] for each in last["members"]] == [0.0, 7.25]


def test_a_launcher_that_never_led_notes_no_ledger() -> None:
    story = Story()
    story.events.close(NOW, story.member)
    assert story.ledgers == []


def test_a_member_of_an_older_launcher_counts_nothing() -> None:
    story = Story()
    story.look(0, {})
    story.events.close(NOW, story.member)
    assert list(lives(story.ledgers[0])) == ["1.1"]


def test_very_many_members_are_several_lines() -> None:
    story = Story()
    story.hears(0, seconds_of(2, "1", 1.0))
    story.member.heard = {
        f"10.1.{number // 250}.{number % 250}": heard(
            replace(READY[1], who=replace(who(2), boot=str(number)), seconds={Spent.KEPT: 1.0})
        )
        for number in range(2500)
    }
    story.events.hear(story.member.heard)
    story.events.close(NOW, story.member)
    assert [len(each["members"]) for each in story.ledgers] == [1000, 1000, 502]


@pytest.mark.parametrize(("number", "noted"), [(2, 1), (3, 0)], ids=["the second", "another"])
def test_a_leader_that_is_gone_is_noted_by_the_second_member(number: int, noted: int) -> None:
    """The next leader may be a launcher that was started since, and has never heard it."""
    story = Story()
    story.events.hear({"10.0.0.9": heard(replace(seconds_of(2, "old", 9.5), known=4), came=NOW)})
    for _ in range(2):
        story.events.begin(gang(5, who(1), who(2), who(3)), who(number).boot, NOW + 3)
    assert len(story.ledgers) == noted
    for each in story.ledgers:
        assert (each["generation"], lives(each)) == (4, {"2.old": {Spent.KEPT: 9.5}})
        assert each["members"][0]["ago"] == 3.0
