"""The passes of a run: in v1's logs, in the rows, and what a restart made to be run again."""

from __future__ import annotations

from typing import Any

import pytest

from launcher.report.page import cost_words
from launcher.report.passes import Loss, logged, losses_of, ticks_of
from launcher.report.story import Story, with_output
from tests.unit.report.test_gang import BEGUN, gang, phase, story_of, told

BEGAN = BEGUN.timestamp()
V1 = b" Pass=%d Batch=157 samples=40000 AvgCost=%s Eval: classification_error_evaluator=0.25"
FORMS: list[tuple[bytes, dict[str, float]]] = [
    (V1 % (0, b"0.68"), {"AvgCost": 0.68, "classification_error_evaluator": 0.25}),
    (b"I1118 10:00:00.1 7 Trainer.cpp:165]  Pass=0 Batch=9 samples=9 AvgCost=1e-3", {"AvgCost": 0.001}),
    (b" Pass=0 AvgCost=1.04809 RMSE=0.9677 seconds=4.9", {"AvgCost": 1.04809, "RMSE": 0.9677, "seconds": 4.9}),
    (b" Pass=0 AvgCost=0.5 mode=fast", {"AvgCost": 0.5}),
]


@pytest.mark.parametrize(("line", "metrics"), FORMS)
def test_a_log_tells_a_pass_in_v1s_words(line: bytes, metrics: dict[str, float]) -> None:
    (found,) = logged(2, [b"other words\n", line + b"\n"])
    assert (str(found.seat), found.generation, found.pass_) == ("trainer 2", 1, 0)
    assert (found.metrics, found.strange) == (metrics, ())


def test_a_cost_that_is_no_number_is_counted() -> None:
    (found,) = logged(0, [V1 % (0, b"nan")])
    assert (found.strange, "AvgCost" in found.metrics) == (("AvgCost",), False)


@pytest.mark.parametrize(
    "line",
    [b"Pass 0, cost 1", b" Batch=100 samples=9 AvgCost=1", b" Pass=0 done", b"x" * 5000 + V1 % (0, b"1"), b"\xff"],
    ids=["other words", "a batch", "no cost", "too long", "no text"],
)
def test_a_line_that_is_no_pass_tells_nothing(line: bytes) -> None:
    assert logged(0, [line]) == ()


def heading(generation: int, words: str = "after pass 0: trainer 1 exited with 7") -> bytes:
    return f"==== generation {generation}, {words} ====\n".encode()


def test_a_pass_is_of_the_generation_under_whose_heading_it_stands() -> None:
    log = [V1 % (0, b"3"), V1 % (1, b"2"), heading(2), V1 % (1, b"1.9"), V1 % (1, b"1.8")]
    found = [(each.generation, each.pass_, each.metrics["AvgCost"]) for each in logged(0, log)]
    assert found == [(1, 0, 3.0), (1, 1, 2.0), (2, 1, 1.8)]


def test_what_an_earlier_run_logged_is_not_this_ones() -> None:
    log = [V1 % (0, b"3"), heading(2), V1 % (1, b"2"), heading(1, "after pass 1: a new run"), V1 % (2, b"1")]
    assert [(each.generation, each.pass_) for each in logged(0, log)] == [(1, 2)]


def v1(saved: dict[int, float], *, resume: int | None = 1) -> Story:
    """Two nodes whose programs report nothing: trained from 2 to 10, failed in pass 2, and again from 13 to 20."""
    way = [phase(2, 1, rank, "training") for rank in range(2)]
    made = [told(at, "generation_made", generation=number, resume=back) for at, number, back in ((1, 1, None),)]
    failure = told(10, "failure", generation=1, code=7, reason="trainer 1 exited with 7", tail="a\nb\x1b[31m\n")
    again = [told(11, "generation_made", generation=2, resume=resume, restarts=1)]
    again += [phase(13, 2, rank, "training") for rank in range(2)]
    events: list[dict[str, Any]] = [told(0, "run_started", key="k", job="j"), *made, *way, failure, *again]
    story = story_of([*events, told(20, "verdict", code=0)])
    log = [V1 % (number, b"1") for number in range(3)] + [heading(2)] + [V1 % (number, b"1") for number in (2, 3)]
    times = {number: BEGAN + at for number, at in saved.items()}
    return with_output(story, logged=[*logged(0, log), *logged(1, log)], saved=times)


SAVED = {0: 4.0, 1: 8.0, 2: 15.0, 3: 19.0}


def test_a_saved_pass_is_a_tick_in_each_row_that_trained() -> None:
    story = v1(SAVED | {4: 12.0, 5: 900.0})
    ticks = ticks_of(story)
    assert [str(seat) for seat in ticks] == ["node 0", "node 1"]
    for row in ticks.values():
        assert [(each.number, each.generation, each.at - BEGAN) for each in row] == [
            (0, 1, 4), (1, 1, 8), (2, 2, 15), (3, 2, 19),
        ]  # fmt: skip
        assert all(each.saved for each in row)


def test_where_nothing_was_saved_a_tick_is_a_ranks_first_report_of_a_pass() -> None:
    row = ticks_of(story_of(gang(2, 3, failing=[2])))
    assert [(each.number, each.generation, each.saved) for each in list(row.values())[1]] == [
        (0, 1, False), (1, 1, False), (1, 2, False), (2, 2, False),
    ]  # fmt: skip


def test_a_report_without_a_pass_makes_no_tick() -> None:
    steps = told(9.5, "progress", generation=1, role="node", rank=0, step=3)
    events = sorted([*gang(1, 2), steps], key=lambda each: str(each["at"]))
    (row,) = ticks_of(story_of(events)).values()
    assert [each.number for each in row] == [0, 1]


def test_the_passes_of_several_trainers_in_a_pod_stand_in_their_pod_s_row() -> None:
    where = {"generation": 1, "role": "trainer", "metrics": {}}
    facts: list[dict[str, Any]] = [{**where, "rank": rank, "node_rank": rank // 2, "pass": rank} for rank in range(4)]
    reports = [told(3 + each["rank"], "progress", **each) for each in facts]
    way = [phase(2, 1, rank, "training") for rank in range(2)]
    story = story_of([*way, *reports, told(9, "verdict", code=0)])
    assert [[tick.number for tick in row] for row in ticks_of(story).values()] == [[0, 1], [2, 3]]
    assert [str(report.seat) for report in story.progress] == [f"trainer {rank}" for rank in range(4)]


def test_pservers_have_no_passes() -> None:
    pserver = told(3, "phase", generation=1, role="pserver", rank=0, phase="training")
    story = with_output(story_of([pserver, told(9, "verdict", code=0)]), logged=(), saved={0: BEGAN + 5})
    assert ticks_of(story) == {}


@pytest.mark.parametrize(
    ("saved", "resume", "loss", "words"),
    [
        (SAVED, 1, (3, 2, 1), "5 s and 1 pass (2 s trained in vain, 3 s until it trained again)"),
        (SAVED, 0, (3, 6, 2), "9 s and 2 passes (6 s trained in vain, 3 s until it trained again)"),
        (SAVED, None, (3, 8, 3), "11.0 s and 3 passes (8 s trained in vain, 3 s until it trained again)"),
        ({}, 1, (3, None, 1), "3 s or more and 1 pass (an unknown time trained in vain, 3 s until it trained again)"),
        (SAVED | {1: 9.9}, 2, (3, 0, 0), "3 s and 0 passes (0 s trained in vain, 3 s until it trained again)"),
    ],
    ids=["the pass before", "one earlier", "from the beginning", "no time of the pass", "nothing again"],
)
def test_a_restart_costs_what_was_trained_in_vain_and_the_time_without_training(
    saved: dict[int, float], resume: int | None, loss: tuple[float, float | None, int], words: str
) -> None:
    (found,) = losses_of(v1(saved, resume=resume))
    down, again, passes = loss
    assert (found.generation, found.passes) == (1, passes)
    assert found.down == pytest.approx(down)
    assert found.again == (None if again is None else pytest.approx(again))
    assert cost_words([found]) == words


def test_the_time_of_a_pass_is_known_by_its_reports_too() -> None:
    (loss,) = losses_of(story_of(gang(2, 3, failing=[2])))
    assert loss.down == pytest.approx(9.98)
    assert loss.again == pytest.approx(12.519)
    assert loss.passes == 1


def test_a_generation_that_never_trained_lost_no_training() -> None:
    made = [told(at, "generation_made", generation=number) for number, at in enumerate((1, 5), 1)]
    story = story_of([*made, told(4, "failure", generation=1, code=75), told(9, "verdict", code=75)])
    assert losses_of(story) == (Loss(generation=1, down=5.0, again=0.0, passes=0),)


def test_without_a_restart_nothing_was_lost() -> None:
    assert (losses_of(story_of(gang(2))), cost_words(())) == ((), "")
