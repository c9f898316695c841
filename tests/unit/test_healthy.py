"""The healthy soak: what a seed makes of it, and how its parts add up on their page."""

from __future__ import annotations

import pytest

from tests.soak.health_plans import EXAMPLES, healthy_plan
from tests.soak.health_runs import Healthy
from tests.soak.tables import FIRST_SEED, next_seed, part, with_part


def healthy(number: int, *alarms: str, unknown: float | None = None) -> Healthy:
    return Healthy(plan=healthy_plan(1, number), seconds=30.4, alarms=alarms, again=(), unknown=unknown)


def test_so_many_runs_have_every_example_and_the_next_as_many_have_them_again() -> None:
    for begin in (0, len(EXAMPLES)):
        plans = [healthy_plan(7, number) for number in range(begin, begin + len(EXAMPLES))]
        assert {each.example for each in plans} == set(EXAMPLES)


def test_nodes_passes_and_pace_are_drawn_and_the_same_for_the_same_seed() -> None:
    plans = [healthy_plan(7, number) for number in range(60)]
    assert plans == [healthy_plan(7, number) for number in range(60)]
    assert plans != [healthy_plan(8, number) for number in range(60)]
    assert {each.nodes for each in plans} == {1, 2, 3, 4}
    assert all(each.nodes <= each.example.most for each in plans)


@pytest.mark.parametrize(("alarms", "false"), [((), 0), (("slow: trainer 1 takes 1.6 times as long",), 1)])
def test_an_alarm_is_false(alarms: tuple[str, ...], false: int) -> None:
    assert healthy(0, *alarms).false == false


def test_parts_add_up_each_with_its_seed_and_length() -> None:
    assert next_seed("") == FIRST_SEED
    first = part("2026-11-19", FIRST_SEED, 61.0, [healthy(0, unknown=0.001), healthy(1, unknown=0.002)], 0)
    page = with_part("", first)
    assert next_seed(page) == FIRST_SEED + 1
    assert f"| 2026-11-19 | {FIRST_SEED} | 61 | 61 | 2 | 0 | 0 | 0 | 0.20% |" in page
    page = with_part(page, part("2026-11-20", FIRST_SEED + 1, 31.0, [healthy(2, "slow: it is not")], 1))
    assert "In all 91 s of training in 3 runs: 1 alarms, 0 restarts, 1 runs that did not end well." in page
    assert [line.split("|")[2].strip() for line in page.splitlines() if line.startswith("| 2026")] == [
        str(FIRST_SEED),
        str(FIRST_SEED + 1),
    ]
