"""From events to a story: which run they belong to, in what order, and what a row shows of them."""

from __future__ import annotations

from typing import Any

import pytest

from launcher.report.reading import read_events
from launcher.report.runs import runs_of
from launcher.report.sentence import sentence
from tests.unit.report.test_gang import NODE, gang, lines, moment, phase, seen, story_of, told

STARTED = told(0, "run_started", key="k", job="j", resume=4, moved_to="run-1")


def made(at: float, generation: int, address: str = "10.0.0.1", **facts: object) -> dict[str, Any]:
    members = [{"role": "node", "rank": 1, "address": address}]
    return told(at, "generation_made", generation=generation, members=members, **facts)


def test_the_newest_run_is_told_and_the_earlier_ones_are_listed() -> None:
    first, second, third = gang(2), gang(3), gang(4, end=None)
    second = [event | ({"key": "", "job": ""} if event["event"] == "run_started" else {}) for event in second]
    third = [event | ({"key": "new", "job": "n"} if event["event"] == "run_started" else {}) for event in third]
    later = [event | {"at": event["at"].replace("T10", "T11")} for event in second]
    latest = [event | {"at": event["at"].replace("T10", "T12")} for event in third]
    story = story_of([*first, *later, *latest])
    assert (story.key, len(story.lanes), story.verdict) == ("new", 4, None)
    assert [(past.key, past.verdict is not None) for past in story.past] == [("3f1c", True), ("", True)]


@pytest.mark.parametrize(
    ("between", "after", "runs"),
    [
        ([made(1, 1)], [phase(8.5, 1, 1, "joining"), made(9, 2)], 1),
        ([made(1, 1)], [made(9, 1)], 2),
        ([made(1, 1)], [], 1),
        ([made(1, 1), told(2, "verdict", code=0)], [], 2),
        ([made(1, 1)], [told(9, "run_started", key="", job="j"), made(10, 2)], 1),
    ],
    ids=["next generation", "first one again", "nothing more", "after a verdict", "two leaders in turn"],
)
def test_without_a_key_the_generations_tell_whether_a_run_goes_on(
    between: list[dict[str, Any]], after: list[dict[str, Any]], runs: int
) -> None:
    events = [told(0, "run_started", key="", job="j"), *between, told(8, "run_started", key="", job="j"), *after]
    assert len(runs_of(read_events(lines(events)).events)) == runs


def test_with_a_key_a_new_leader_goes_on_with_the_run() -> None:
    events = [STARTED, made(1, 1), told(20, "run_started", key="k", job="j"), made(21, 2)]
    story = story_of(events)
    assert (len(story.past), len(story.chapters)) == (0, 2)
    assert (story.resume, story.moved_to) == (4, "run-1")


def test_a_late_word_of_an_earlier_run_does_not_make_it_the_newest() -> None:
    events = [
        told(0, "run_started", key="a"),
        told(20, "run_started", key="b"),
        told(40, "run_started", key="a", job="x"),
    ]
    story = story_of(events)
    assert (story.key, [past.key for past in story.past]) == ("b", ["a"])


def test_events_written_shortly_before_the_first_line_of_their_run_belong_to_it() -> None:
    story = story_of([told(0, "run_started", key="old"), phase(20, 0, 1, "joining"), STARTED | {"at": moment(19)}])
    assert (story.key, len(story.lanes), len(story.past)) == ("k", 1, 1)


def test_lines_in_slightly_wrong_order_are_put_right() -> None:
    story = story_of([STARTED, phase(3, 1, 0, "staging"), phase(2, 1, 0, "joining"), phase(4, 1, 0, "serving")])
    assert seen(story.lanes[0]) == ["joining", "staging", "serving"]
    assert story.moved == ()


def test_a_leader_whose_clock_is_behind_goes_on_where_the_last_one_was() -> None:
    hour = -3600
    events = [STARTED, phase(1, 1, 0, "joining"), phase(100, 1, 0, "staging")]
    story = story_of([*events, phase(hour, 1, 0, "serving"), phase(hour + 10, 1, 0, "training")])
    assert [(bar.kind, bar.end - bar.begin) for bar in story.lanes[0].bars] == [
        ("joining", 99), ("staging", 0), ("serving", 10), ("training", 0),
    ]  # fmt: skip
    assert story.moved == (3700,)


def test_a_seat_that_tells_nothing_has_a_row_all_the_same() -> None:
    story = story_of([STARTED, made(1, 1)])
    assert [(str(lane.seat), seen(lane)) for lane in story.lanes] == [("node 1", [])]


def test_a_pod_that_does_not_know_its_rank_is_found_by_its_address() -> None:
    unknown = [phase(0.5, 0, 1, "joining") | {"rank": None}, phase(0.6, 0, 7, "joining") | {"rank": None}]
    story = story_of([STARTED, *unknown, made(1, 1)])
    assert [(str(lane.seat), seen(lane)) for lane in story.lanes] == [("node 1", ["joining"])]


def test_a_member_that_does_not_know_its_rank_has_its_place_among_its_role() -> None:
    members = [{"role": role, "rank": None, "address": f"10.1.0.{place}"} for place, role in enumerate(("node",) * 3)]
    story = story_of([STARTED, told(1, "generation_made", generation=1, members=members)])
    assert [str(lane.seat) for lane in story.lanes] == ["node 0", "node 1", "node 2"]


def test_who_failed_or_was_lost_is_found_by_its_address_in_that_generation() -> None:
    loss = told(5, "lost", generation=1, code=76, address="10.0.0.1", reason="silent")
    failure = told(15, "failure", generation=2, code=7, address="10.0.0.9", reason="")
    stranger = told(25, "lost", generation=3, code=76, address="10.9.9.9", reason="gone")
    story = story_of([STARTED, made(1, 1), loss, made(10, 2, "10.0.0.9"), failure, made(20, 3), stranger])
    assert [str(each.who) for each in story.troubles] == ["node 1", "node 1", "None"]
    assert seen(story.lanes[0]) == ["lost"]
    assert "node 1 was lost: silent." in sentence(story).more[1]
    alone = sentence(story_of([stranger]))
    assert "a member was lost: gone." in alone.more[1]


def test_a_loss_is_marked_and_breaks_its_own_generation_only() -> None:
    first = [made(1, 1), phase(2, 1, 0, "training"), phase(2, 1, 1, "training")]
    loss = told(9, "lost", generation=1, reason="no answer", **NODE)
    again = [made(12, 2), phase(13, 2, 0, "training"), loss | {"at": moment(20)}, told(30, "verdict", code=0)]
    story = story_of([STARTED, *first, loss, *again])
    assert seen(story.lanes[0]) == ["training", "gap", "training"]
    assert seen(story.lanes[1]) == ["training", "gap", "lost", "lost"]
    assert len(story.troubles) == 1, "a new leader tells again what it heard"
    assert [chapter.over for chapter in story.chapters] == ["no answer", "ended with 0"]


def test_what_a_generation_ended_of_is_found_somewhere() -> None:
    failed = told(25, "failure", generation=3, code=7)
    lost = told(35, "lost", generation=4, **NODE)
    events = [made(1, 1), made(10, 2), made(20, 3, cause="asked"), failed, made(30, 4), lost, made(40, 5)]
    story = story_of([STARTED, *events])
    assert [chapter.over for chapter in story.chapters] == [
        "ended, no reason given", "asked", "failed with 7", "lost", None,
    ]  # fmt: skip


def test_a_phase_that_failed_last_waits_for_the_next_start_unless_all_is_over() -> None:
    failed = [STARTED, made(1, 1), phase(2, 1, 1, "training"), phase(5, 1, 1, "failed"), phase(9, 1, 0, "training")]
    assert seen(story_of(failed).lanes[1]) == ["training", "failed", "gap"]
    assert seen(story_of([*failed, told(10, "verdict", code=1)]).lanes[1]) == ["training", "failed"]
