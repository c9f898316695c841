"""Where programs stand, as `paddlectl stacks` prints it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.desk.live.standing import NO_TEXT, ranks, standing_groups, standing_page


def program(rank: int, where: str = "all_reduce at train.py:41", **facts: object) -> dict[str, Any]:
    told = {
        "role": "trainer",
        "rank": rank,
        "node_name": f"node-{rank}",
        "digest": where,
        "state": "",
        "where": where,
    }
    return {**told, **facts}


READS = program(
    5, "read at data.py:17", text='Current thread 0x7f (most recent call first):\n  File "data.py", line 17 in read\n'
)
OTHERS = [program(rank) for rank in (0, 1, 2, 3, 4, 6, 7)]


def test_equal_places_stand_together_and_the_rarest_comes_first() -> None:
    page = standing_page({"programs": [*OTHERS, READS]}, everything=False)
    assert page == (
        "trainer 5 on node-5 in read at data.py:17\n"
        "7 of 8 trainers in all_reduce at train.py:41 (0-4, 6, 7)\n"
        "\ntrainer 5:\n"
        "  Current thread 0x7f (most recent call first):\n"
        '    File "data.py", line 17 in read\n'
        "\ntrainer 0, as 6 more:\n"
        f"  {NO_TEXT}\n"
    )


def test_pservers_come_last_and_are_counted_by_themselves() -> None:
    served = [program(rank, "run_server at serve.py:3", role="pserver") for rank in (0, 1)]
    assert [each.sentence for each in standing_groups({"programs": [*served, READS]})] == [
        "trainer 5 on node-5 in read at data.py:17",
        "2 of 2 pservers in run_server at serve.py:3 (0, 1)",
    ]


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"where": "", "digest": "", "state": "stopped"}, "trainer 1 on node-1 is stopped"),
        ({"where": "", "digest": "", "state": ""}, "trainer 1 on node-1 cannot be asked"),
        ({"where": "sh in do_wait", "state": "no handler"}, "trainer 1 on node-1 in sh in do_wait (no handler)"),
        ({"where": "f at a\x1b[2J.py:1"}, "trainer 1 on node-1 in f at a?[2J.py:1"),
        ({"node_name": ""}, "trainer 1 in all_reduce at train.py:41"),
    ],
    ids=["stopped", "unknown", "no Python", "a name that moves the cursor", "no node"],
)  # fmt: skip
def test_one_by_itself_is_told_with_its_node(facts: dict[str, Any], said: str) -> None:
    (group,) = standing_groups({"programs": [program(1, **facts)]})
    assert group.sentence == said


def test_pods_that_did_not_answer_are_named_and_all_stacks_are_had() -> None:
    told = {
        "programs": [program(0, text="a"), program(1, text="b")],
        "silent": [{"address": "10.0.0.3", "node_name": "c"}],
    }
    page = standing_page(told, everything=True)
    assert page == (
        "2 of 2 trainers in all_reduce at train.py:41 (0, 1)\nno answer from 10.0.0.3 on c\n"
        "\ntrainer 0:\n  a\n\ntrainer 1:\n  b\n"
    )  # fmt: skip


@given(st.sets(st.integers(0, 50), min_size=1))
def test_ranks_in_a_row_are_told_as_one(numbers: set[int]) -> None:
    told: list[int] = []
    for each in ranks(sorted(numbers)).split(", "):
        first, _, last = each.partition("-")
        told += range(int(first), int(last or first) + 1)
    assert told == sorted(numbers)
