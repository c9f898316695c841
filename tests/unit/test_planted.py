"""What is planted follows from a seed, and what is told of it is judged by what its program noted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.real.planted.judge import Judged, Truth, judged, told
from tests.real.planted.lines import LINES, line_of
from tests.real.planted.plans import (
    ALL,
    DEADLOCK,
    FAULTS,
    FROZEN,
    LATE,
    PASSES,
    PLAIN,
    RECOMMENDATION,
    ROUNDS,
    SEED,
    SERVED,
    SLOW_RANK,
    Plan,
    plan,
    round_of,
)
from tests.real.planted.tables import Result, enough, rounds

BEGAN = 1000.0
AFTER = 10.0
TRUTH = Truth(at=BEGAN, role="trainer", rank=1, line="lines.py:22")
OTHER = Truth(at=BEGAN + 0.5, role="trainer", rank=2, line="lines.py:30")
STANDS = 'File "/job/lines.py", line 22 in decode'


def event(name: str, at: str = "1970-01-01T00:16:52.000Z", **facts: object) -> dict[str, Any]:
    return {"at": at, "event": name, "code": 134, **facts}


def judge(*events: dict[str, Any], truths: tuple[Truth, ...] = (TRUTH,), looks: str = "") -> Judged:
    return judged(truths, told(events), {"trainer-1": looks}, AFTER)


@pytest.mark.parametrize(
    ("reason", "right"),
    [
        ("trainer 1 stood still for 10 s", True),
        ("trainer 1 on node-b is what the 2 others wait for; trainer 0 stood still for 10 s", True),
        ("trainer 0 stood still for 10 s", False),
        ("trainers 0, 1 are what the other waits for; trainer 2 stood still", False),
        ("pserver 1 stands elsewhere", False),
    ],
)
def test_the_right_rank_is_whom_the_sentence_names_first_and_nobody_else(reason: str, right: bool) -> None:
    assert judge(event("alarm", kind="stalled", rank=0, reason=reason), looks=STANDS).rank is right


def test_of_a_deadlock_one_of_the_two_is_right_or_both_but_not_the_third() -> None:
    truths = (TRUTH, OTHER)
    both = event("alarm", kind="stalled", reason="trainers 1, 2 are what the other waits for; trainer 0 stood still")
    one = event("alarm", kind="stalled", reason="trainer 2 is what the 2 others wait for")
    third = event("alarm", kind="stalled", reason="trainers 0 and 1 stand at different places")
    assert [judge(each, truths=truths).rank for each in (both, one, third)] == [True, True, False]


def test_an_alarm_without_a_name_in_its_sentence_is_about_its_own_rank() -> None:
    assert judge(event("alarm", kind="slow", rank=1, reason="steps take 2.0 times the gang's")).rank
    assert not judge(event("alarm", kind="slow", rank=0, reason="steps take 2.0 times the gang's")).rank


@pytest.mark.parametrize(
    ("below", "looks", "right"),
    [
        ("", STANDS, True),
        ("trainer 1: read in decode at lines.py:22", "", True),
        ("", STANDS.replace("22", "2"), False),
        ("lines.py:220", "", False),
        ("", "", False),
    ],
)
def test_the_right_line_stands_in_the_words_or_in_what_the_look_found(below: str, looks: str, right: bool) -> None:
    found = judge(event("failure", reason="trainer 1 stood still", tail=below), looks=looks)
    assert found.line is right


def test_a_fault_without_a_line_needs_none() -> None:
    bare = Truth(at=BEGAN, role="trainer", rank=1, line="")
    found = judge(event("alarm", kind="not_a_number", rank=1, reason="trainer 1 reports cost=nan"), truths=(bare,))
    assert (found.line, found.right) == (None, True)


def test_the_seconds_are_those_since_the_time_out_and_more_than_thirty_are_too_many() -> None:
    soon = judge(event("failure", reason="trainer 1 stood still", tail="lines.py:22"))
    late = judge(event("failure", "1970-01-01T00:17:21.000Z", reason="trainer 1 stood still", tail="lines.py:22"))
    assert (soon.seconds, soon.right) == (2.0, True)
    assert (late.seconds, late.right) == (31.0, False)


def test_what_was_told_before_the_fault_and_a_good_end_say_nothing_of_it() -> None:
    before = event("alarm", "1970-01-01T00:16:39.000Z", kind="slow", rank=1, reason="trainer 1 is slow")
    good = {"at": "1970-01-01T00:17:00.000Z", "event": "verdict", "code": 0, "reason": "every trainer is done"}
    assert judge(before, good).seconds is None


def test_a_round_has_every_fault_once_and_every_program() -> None:
    for seed in range(SEED, SEED + ROUNDS):
        plans = round_of(seed)
        assert [each.fault for each in plans] == list(FAULTS)
        assert {each.program for each in plans} >= set(ALL)
        assert all(0 < each.at[0] < PASSES or each.fault is SLOW_RANK for each in plans)


def test_ranks_moments_and_lines_are_drawn() -> None:
    plans = [each for seed in range(SEED, SEED + ROUNDS) for each in round_of(seed)]
    assert {rank for each in plans for rank in each.ranks} == {0, 1, 2}
    assert len({each.at for each in plans}) > 20
    assert {line for each in plans for line in each.lines} == set(range(len(LINES)))
    assert len({line_of(number) for number in range(len(LINES))}) == len(LINES)


def test_two_ranks_have_a_deadlock_and_pservers_answer_late() -> None:
    assert len(set(plan(7, DEADLOCK, ALL).ranks)) == 2
    assert plan(7, LATE, (SERVED,)).role == "pserver"
    assert [plan(7, LATE, (each,)).at_line for each in (SERVED, RECOMMENDATION)] == [True, False]


def result(planned: Plan, *, right: bool) -> Result:
    return Result(plan=planned, judged=Judged(rank=right, line=None, seconds=1.0, said="", kind="stalled"), code=0)


def test_eleven_of_twelve_are_enough() -> None:
    plans = round_of(SEED)
    assert enough([result(each, right=each.fault is not FROZEN) for each in plans])
    assert not enough([result(each, right=each.fault not in (FROZEN, LATE)) for each in plans])


def test_the_tables_say_what_was_right_of_each() -> None:
    planned = plan(3, FROZEN, (PLAIN,))
    text = rounds([result(planned, right=False)])
    assert "### Seed 3: 0 of 1" in text
    (line,) = [each for each in text.splitlines() if each.startswith("| a frozen child")]
    assert line.split("|")[-4:-1] == [" NO   ", "      ", "         "]
