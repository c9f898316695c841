"""The soak of widths: what a seed makes of it, what is found in a run that is wrong, and its section on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.soak.tables import WIDTHS, width_table, with_section
from tests.soak.width_checks import Change, changes, costs_wrong, ranks_wrong, shards_wrong, steps_wrong
from tests.soak.width_plans import ALONE, ASKS, COME, LEAVE, LOSS, LOSSES, PLANNED, RESIZES, Turn, width_plan
from tests.soak.width_runs import WidthResult
from tests.support.histories import TRAINER, Life

SEEDS = range(18000, 18200)
PLAN = replace(width_plan(0), least=2, most=4, unit=2, spares=0, shards=4, turns=(Turn(kind=LOSS),))


def made(number: int, ranks: Sequence[int], *, restarts: int = 0, resume: int = 0, cause: str = "") -> dict[str, Any]:
    members = [{"rank": rank} for rank in ranks]
    return {"generation": number, "members": members, "restarts": restarts, "resume": resume, "cause": cause}


def life(number: int, rank: int, trainers: int, process: str = "") -> Life:
    return Life(
        run="run", generation=number, role=TRAINER, rank=rank, trainers=trainers, process=process, times=(1.0,)
    )


def begun(rank: int, *data: str, of: int = 2) -> dict[str, Any]:
    return {"generation": 1, "rank": rank, "of": of, "data": list(data)}


def test_a_seed_s_plan_is_the_same_again_and_two_hundred_have_turns_and_settings_of_every_kind() -> None:
    plans = [width_plan(seed) for seed in SEEDS]
    assert plans == [width_plan(seed) for seed in SEEDS]
    assert {turn.kind for plan in plans for turn in plan.turns} == {*PLANNED, *LOSSES}
    assert {plan.resize for plan in plans} == {*RESIZES}
    assert all(2 <= len(plan.turns) <= 6 and plan.most <= plan.shards <= 6 for plan in plans)
    assert any(plan.planned for plan in plans)
    assert {(plan.dns, plan.indexed) for plan in plans} == {(True, True), (False, True), (False, False)}


def test_who_goes_in_a_plan_is_there_and_who_comes_is_not() -> None:
    for plan in map(width_plan, SEEDS):
        here = set(plan.first)
        for turn in plan.turns:
            assert here >= {*turn.goes}, plan
            here -= {*turn.goes}
            assert here.isdisjoint(turn.comes), plan
            here |= {*turn.comes}
            assert here <= set(range(plan.slots)), plan


@pytest.mark.parametrize(
    ("starts", "lives", "why"),
    [
        ([made(1, [0, 1])], [life(1, 0, 2), life(1, 1, 2)], []),
        ([made(1, [0, 2])], [], ["has these ranks"]),
        ([made(1, [0, 1, 2])], [], ["generation 1 is 3 wide"]),
        ([made(1, [])], [], ["generation 1 is 0 wide"]),
        ([made(1, [0, 1])], [life(1, 0, 2, "a"), life(1, 0, 2, "b")], ["rank 0 of generation 1 ran 2 times"]),
        ([made(1, [0, 1])], [life(1, 2, 2)], ["rank 2 of generation 1 ran 1 times, of 2"]),
        ([made(1, [0, 1])], [life(1, 0, 4)], ["trainer 0 of generation 1 of run run (launcher ) is one of 4"]),
    ],
    ids=["well", "a gap", "no multiple of the unit", "too few", "twice", "beyond", "of another width"],
)
def test_ranks_and_widths_that_may_not_be_are_found(
    starts: list[dict[str, Any]], lives: list[Life], why: list[str]
) -> None:
    found = list(ranks_wrong(starts, lives, PLAN))
    assert len(found) == len(why)
    assert all(expected in said for expected, said in zip(why, found, strict=True))


@pytest.mark.parametrize(
    ("starts", "wrong"),
    [
        ([begun(0, "a", "b"), begun(1, "c", "d")], False),
        ([begun(0, "a", "b")], False),
        ([begun(0, "a", "b"), begun(1, "b", "c")], True),
        ([begun(0, "a", "b"), begun(1, "c")], True),
    ],
    ids=["well", "one did not begin", "to two", "to nobody"],
)
def test_a_shard_that_is_given_twice_or_to_nobody_is_found(starts: list[Mapping[str, Any]], wrong: bool) -> None:
    assert bool(list(shards_wrong(starts, PLAN))) == wrong


@pytest.mark.parametrize(
    ("turn", "cause", "spent", "wrong"),
    [
        (LOSS, "node 1 is gone", 1, False),
        (LOSS, "node 1 was told to stop", 1, True),
        (LEAVE, "the leader was lost", 1, True),
        (COME, "1 pod is ready to take part", 0, False),
    ],
)
def test_a_restart_that_is_spent_by_what_is_planned_is_found(turn: str, cause: str, spent: int, wrong: bool) -> None:
    plan = replace(PLAN, turns=(Turn(kind=turn),))
    starts = [made(1, [0, 1]), made(2, [0, 1], restarts=spent, cause=cause)]
    assert bool(list(costs_wrong(starts, plan))) == wrong


def test_each_third_planned_end_in_a_row_may_spend_one_where_no_pass_was_new() -> None:
    told = [made(n, [0, 1], restarts=n // 4, cause="node 1 was told to stop") for n in range(1, 5)]
    assert not list(costs_wrong(told, PLAN))
    assert list(costs_wrong([*told[:2], replace_resume(told[2], 1), replace_resume(told[3], 1)], PLAN))


def replace_resume(line: Mapping[str, Any], resume: int) -> dict[str, Any]:
    return {**line, "resume": resume}


def test_a_change_costs_the_steps_that_are_made_again_and_the_seconds_between_two() -> None:
    starts = [made(1, [0, 1]), made(2, [0, 1]), made(3, [0, 1, 2, 3], restarts=1)]
    told = [{"generation": 1, "step": n, "at": float(n)} for n in range(1, 8)]
    told += [{"generation": 3, "step": n, "at": 5.0 + n} for n in range(6, 9)]
    assert list(changes(starts, told, asked=True)) == [
        Change(before=2, after=4, restarts=1, twice=2, still=4.0, asked=True)
    ]


@pytest.mark.parametrize(
    ("turn", "program", "grace", "early", "wrong"),
    [
        (LEAVE, ASKS, 6, False, True),
        (LOSS, ASKS, 6, False, False),
        (LEAVE, ALONE, 6, False, False),
        (LEAVE, ASKS, 2, False, False),
        (LEAVE, ASKS, 6, True, False),
    ],
)
def test_a_step_that_is_made_again_is_found_where_all_was_planned_and_programs_asked(
    turn: str, program: str, grace: int, early: bool, wrong: bool
) -> None:
    plan = replace(PLAN, turns=(Turn(kind=turn),), program=program, grace=grace, early=early)
    again = Change(before=3, after=2, restarts=0, twice=3, still=0.5, asked=True)
    assert bool(list(steps_wrong([replace(again, twice=0), again], plan))) == wrong
    assert not list(steps_wrong([replace(again, twice=0)], plan))


def test_a_section_takes_the_place_of_the_one_before_and_leaves_the_others() -> None:
    change = Change(before=3, after=2, restarts=0, twice=0, still=0.5, asked=True)
    result = WidthResult(seed=1, had=(LEAVE,), changes=(change,), restarts=0, seconds=9.0)
    text = f"{WIDTHS}\n{width_table([result])}\n"
    page = with_section("# Random faults\n\nold\n\n## Others\n\nkept\n", text)
    assert page == f"# Random faults\n\nold\n\n## Others\n\nkept\n\n{text}"
    assert with_section(page, text) == page
    assert with_section(page, "# Random faults\n\nnew\n") == page.replace("\nold\n", "\nnew\n")
    assert f"| {LEAVE} | 1 | 1 | 2.0 | 1.0 | 0.0 | 9.0 | 9.0 |" in page
    assert "| as planned, programs call `here.leaving` | 1 | 1 | 0 | 0 | 0.5 | 0.5 |" in page
