"""A gang's events as its leaders write them, and the stories that are told of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from launcher.report.lanes import Lane
from launcher.report.reading import read_events
from launcher.report.sentence import sentence
from launcher.report.story import Story, read_story

BEGUN = datetime(2026, 11, 18, 10, 0, tzinfo=UTC)


def moment(seconds: float) -> str:
    return (BEGUN + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def told(seconds: float, event: str, **facts: object) -> dict[str, Any]:
    return {"at": moment(seconds), "event": event} | facts


def lines(events: Iterable[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(each).encode() + b"\n" for each in events]


def gang(
    ranks: int = 3, passes: int = 6, *, failing: Iterable[int] = (), steps: int = 4, end: int | None = 0
) -> list[dict[str, Any]]:
    """A run of some ranks; in each of the passes named by `failing` its last rank fails once."""
    events = [told(0, "run_started", key="3f1c", job="recommendation", resume=None, moved_to="")]
    now, generation, first, cause = 0.0, 0, 0, ""
    for last in [*failing, passes]:
        generation += 1
        events += _start(ranks, generation, now, resume=first - 1 if first else None, cause=cause)
        now += 9.0
        for number in range(first, last):
            events += _pass(ranks, generation, now, number, steps)
            now += 10.0
        first = max(0, last - 1)
        if last < passes or end:
            cause = f"trainer {ranks - 1} exited with 7"
            code = 7
            events.append(phase(now + 2, generation, ranks - 1, "failed"))
            events.append(told(now + 2.02, "failure", generation=generation, code=code, reason=cause))
            now += 3
    if end is None:
        return events
    for rank in range(ranks if not end else 0):
        events.append(phase(now + rank * 0.2 / ranks, generation, rank, "trained"))
    now += 1
    events.append(told(now, "verdict", code=end, reason="every trainer is done" if not end else cause))
    events += [phase(now + 0.1, generation, rank, "done" if not end else "failed") for rank in range(ranks)]
    return events


def phase(at: float, generation: int, rank: int, name: str) -> dict[str, Any]:
    return told(at, "phase", generation=generation, role="node", rank=rank, address=f"10.0.0.{rank}", phase=name)


def _start(ranks: int, generation: int, now: float, resume: int | None, cause: str) -> list[dict[str, Any]]:
    members = [{"role": "node", "rank": rank, "address": f"10.0.0.{rank}", "pod": ""} for rank in range(ranks)]
    events = []
    for rank in range(ranks):
        late = 2.0 * rank / ranks
        events += [phase(now + 0.2 + late, generation, rank, "joining"), phase(now + 3, generation, rank, "staging")]
        events += [phase(now + 6 + late, generation, rank, "serving"), phase(now + 9, generation, rank, "training")]
    facts = {"members": members, "resume": resume, "restarts": generation - 1, "cause": cause}
    made = told(now + 2.9, "generation_made", generation=generation, **facts)
    return sorted([*events, made], key=lambda event: str(event["at"]))


def _pass(ranks: int, generation: int, now: float, number: int, steps: int) -> list[dict[str, Any]]:
    events = []
    for step in range(1, steps + 1):
        along = number + step / steps
        for rank in range(ranks):
            cost = 0.4 + math.exp(-along / 2) + 0.05 * math.sin(7 * along + rank) + 0.01 * (rank % 7)
            facts = {"pass": number, "step": step * 30, "metrics": {"cost": cost, "rmse": math.sqrt(cost)}}
            at = now + 10 * step / steps - 0.5 + 0.001 * rank
            events.append(told(at, "progress", generation=generation, role="trainer", rank=rank, **facts))
    return events


def story_of(events: Iterable[dict[str, Any]]) -> Story:
    story = read_story(read_events(lines(events)))
    assert story
    return story


def seen(lane: Lane) -> list[str]:
    """A row as a reader sees it: bars and marks in their order."""
    moments = [(bar.begin, bar.kind) for bar in lane.bars] + [(mark.at, mark.kind) for mark in lane.marks]
    return [kind for _, kind in sorted(moments)]


WAY = ["joining", "staging", "serving", "training"]


def test_a_good_run_is_a_success_and_each_rank_has_its_row() -> None:
    story = story_of(gang(3))
    assert [str(lane.seat) for lane in story.lanes] == ["node 0", "node 1", "node 2"]
    assert all(seen(lane) == [*WAY, "trained", "done"] for lane in story.lanes)
    assert (story.job, story.key, story.restarts, story.seconds) == ("recommendation", "3f1c", 0, 70)
    assert story.verdict
    assert story.verdict.code == 0
    assert sentence(story).kind == "good"
    assert sentence(story).words == "after 1 min 10 s: every trainer is done."
    assert sentence(story).more == ()


def test_a_restart_is_a_gap_in_every_row_and_the_first_failure_is_named() -> None:
    story = story_of(gang(3, failing=[2]))
    assert seen(story.lanes[0]) == [*WAY, "gap", *WAY, "trained", "done"]
    assert seen(story.lanes[2]) == [*WAY, "failed", "gap", *WAY, "trained", "done"]
    assert [chapter.over for chapter in story.chapters] == ["trainer 2 exited with 7", "every trainer is done"]
    assert [str(each.who) for each in story.troubles] == ["node 2"]
    more = "It took 1 restart; the first failure was in generation 1, after 31.0 s: trainer 2 exited with 7."
    assert sentence(story).more == (more,)


def test_a_failed_run_says_with_what_who_was_first_and_that_restarts_did_not_help() -> None:
    story = story_of(gang(3, failing=[2, 3], end=7))
    said = sentence(story)
    assert story.verdict
    assert story.verdict.code == 7
    assert said.kind == "bad"
    assert said.words == "with code 7 after 1 min 57 s: trainer 2 exited with 7."
    assert said.more[0] == "The first failure was in generation 1, after 31.0 s: trainer 2 exited with 7."
    assert said.more[1] == "2 restarts did not help."
    assert seen(story.lanes[0])[-2:] == ["training", "failed"], "after the verdict nothing starts again: no gap"


def test_a_run_without_a_verdict_says_how_far_it_had_come() -> None:
    story = story_of(gang(3, 4, failing=[2], end=None))
    said = sentence(story)
    assert said.kind == "open"
    assert "10:01:10.502 UTC" in said.words
    assert said.more[0] == "In generation 2: 3 training."
    assert story.chapters[-1].over is None


NODE = {"role": "node", "rank": 1, "address": "10.0.0.1"}


@pytest.mark.parametrize(
    ("event", "kind", "expected"),
    [
        (told(1, "verdict", code=0, reason=""), "good", "after 0 s: every trainer is done."),
        (told(1, "verdict", code=69, reason=""), "bad", "with code 69 after 0 s: no reason was given."),
        (told(1, "failure", generation=0, code=75, reason=""), "open", "after 0 s: ended with 75."),
        (told(1, "failure", generation=1, code=7, reason="killed"), "open", "generation 1, after 0 s: killed."),
        (told(1, "lost", generation=2, reason="silent!", **NODE), "open", "node 1 was lost: silent!"),
        (told(1, "lost", generation=2, **NODE), "open", "node 1 was lost: no reason was given."),
        (told(1, "run_started", key="", job=""), "open", "Before any generation: no rank has reported."),
        (told(1, "generation_made", generation=1, members=[NODE]), "open", "In generation 1: no rank has reported"),
        (phase(1, 0, 1, "joining"), "open", "Before any generation: 1 joining."),
    ],
    ids=lambda value: value.get("event") if isinstance(value, dict) else "",
)
def test_one_event_is_enough_for_a_sentence(event: dict[str, Any], kind: str, expected: str) -> None:
    said = sentence(story_of([event]))
    assert said.kind == kind
    assert expected in " ".join([said.words, *said.more])


def test_a_failure_without_a_name_in_its_reason_is_given_the_first_seat_that_failed() -> None:
    story = story_of([phase(1, 1, 2, "failed"), phase(1, 1, 0, "failed"), told(2, "failure", generation=1, code=9)])
    assert "node 2: ended with 9." in sentence(story).more[1]
    assert sentence(story).more[0] == "Before any generation: 2 down."
