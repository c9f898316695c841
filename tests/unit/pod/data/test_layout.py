"""Which shards a rank has, from the directories that are there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.pod.data.deal import Portion
from launcher.pod.data.layout import another_shard, find_shard
from launcher.pod.outcome import ShardError

NONE: tuple[str, ...] = ()


def find(
    rank: int,
    trainers: int,
    by_rank: tuple[str, ...],
    under_data: tuple[str, ...],
    most: int = 0,
    slots: tuple[int, ...] = (),
) -> tuple[tuple[str, str], ...]:
    return find_shard(
        Portion(rank=rank, trainers=trainers, most=most or trainers, slots=slots),
        job_dir="/mnt/job",
        counted_by="TRAINERS",
        by_rank=by_rank,
        under_data=under_data,
    )


@pytest.mark.parametrize(
    ("by_rank", "under_data", "expected"),
    [
        (("0", "1", "2"), NONE, (("1", "data"),)),
        (NONE, ("2", "0", "1"), (("data", "1"),)),
        (NONE, NONE, ()),
        (NONE, ("0", "1", "2", "3"), (("data", "1"),)),
        (("4", "0", "1", "2", "3"), NONE, (("1", "data"), ("4", "data"))),
    ],
)
def test_each_layout_leads_to_the_ranks_own_shards(
    by_rank: tuple[str, ...], under_data: tuple[str, ...], expected: tuple[tuple[str, str], ...]
) -> None:
    assert find(1, 3, by_rank, under_data) == expected


@given(st.integers(1, 20), st.integers(0, 50))
def test_every_shard_is_exactly_one_ranks_and_no_rank_is_without(trainers: int, more: int) -> None:
    numbers = tuple(str(number) for number in range(trainers + more))
    dealt = [find(rank, trainers, NONE, numbers) for rank in range(trainers)]
    assert all(dealt)
    assert sorted(int(number) for ways in dealt for _, number in ways) == list(range(trainers + more))


@pytest.mark.parametrize(
    ("by_rank", "under_data", "told"),
    [
        (("1", "0"), ("2", "10"), "/mnt/job holds shards in both layouts, 0/data and data/2: expected one of them"),
        (("1", "2"), NONE, "/mnt/job/<rank>/data: missing: 0; expected one or more for each trainer"),
        (("2",), NONE, "missing: 0, 1;"),
        (NONE, ("0", "1", "2", "4"), "/mnt/job/data/<rank>: not expected: 4;"),
        (NONE, ("0", "1", "3", "4"), "missing: 2; not expected: 3, 4;"),
        (NONE, ("1", "2", "3"), "missing: 0; not expected: 3;"),
        (NONE, ("00", "01", "02"), "missing: 0, 1, 2; not expected: 00, 01, 02;"),
        (NONE, ("0", "1", "02"), "there are 3 trainers, as TRAINERS says: split the data into 3, or start fewer"),
    ],
)
def test_anything_but_one_complete_layout_is_refused_with_what_to_do(
    by_rank: tuple[str, ...], under_data: tuple[str, ...], told: str
) -> None:
    with pytest.raises(ShardError) as caught:
        find(0, 3, by_rank, under_data)
    assert told in str(caught.value)


def test_a_long_list_of_missing_shards_is_cut() -> None:
    with pytest.raises(ShardError, match=r"missing: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 989 more;"):
        find(1, 1000, ("0",), NONE)


@given(st.integers(1, 20), st.sets(st.integers(0, 19)))
def test_a_missing_shard_is_said_by_the_rank_whose_it_is_alone(trainers: int, missing: set[int]) -> None:
    """Were it said by all, one that was cleaned away after it was staged would end the job with the next restart."""
    there = tuple(str(number) for number in range(trainers) if number not in missing)
    for rank in range(trainers if there else 0):
        if rank in missing:
            with pytest.raises(ShardError, match="missing: "):
                find(rank, trainers, there, NONE)
        else:
            assert find(rank, trainers, there, NONE) == ((str(rank), "data"),)


def test_a_gang_that_may_grow_has_a_shard_for_each_that_may_come() -> None:
    assert find(1, 2, NONE, ("0", "1", "2", "3", "4"), most=5) == (("data", "1"), ("data", "3"))
    with pytest.raises(
        ShardError, match=r"has 3 shards; expected one or more for each of up to 5 trainers, as TRAIN"
    ):
        find(1, 2, NONE, ("0", "1", "2"), most=5)


def test_by_slots_a_rank_has_what_its_slot_has() -> None:
    numbers = ("0", "1", "2", "3", "4")
    assert find(1, 5, NONE, numbers, most=5, slots=(0, 1, 2, 3, 4)) == (("data", "1"),)
    dealt = [find(rank, 2, NONE, numbers, most=5, slots=(1, 4)) for rank in (0, 1)]
    assert [("data", str(slot)) in ways for slot, ways in zip((1, 4), dealt, strict=True)] == [True, True]
    assert sorted(number for ways in dealt for _, number in ways) == list(numbers)
    assert find(1, 2, NONE, NONE, most=5, slots=(1, 4)) == ()


@pytest.mark.parametrize(
    ("there", "slots", "rank", "told"),
    [
        ("012", (0, 1, 2), 0, r"has 3 shards; expected one or more for each of up to 5 trainers, as TRAIN"),
        (
            "012",
            (0, 1, 2, 3, 4),
            3,
            r"missing: 3, 4; .*; there may be 5 trainers, as TRAINERS says: split the data into 5",
        ),
        ("01245", (0, 1, 2), 0, r"not expected: 5;"),
        ("01245", (0, 1, 3), 2, r"missing: 3; not expected: 5;"),
    ],
)
def test_by_slots_too_few_shards_and_gaps_are_refused(
    there: str, slots: tuple[int, ...], rank: int, told: str
) -> None:
    with pytest.raises(ShardError, match=told):
        find(rank, len(slots), NONE, tuple(there), most=5, slots=slots)


@pytest.mark.parametrize(
    ("ways", "numbers", "other"),
    [
        ([("1", "data"), ("4", "data")], "01234", ("0", "data")),
        ([("0", "data")], ("0", "10", "9"), ("9", "data")),
        ([("data", "0")], "012", ("data", "1")),
        ([("data", "0"), ("data", "1")], "01", None),
    ],
)
def test_the_first_shard_of_another_rank_is_found_in_either_layout(
    ways: list[tuple[str, str]], numbers: Sequence[str], other: tuple[str, str] | None
) -> None:
    assert another_shard(ways, numbers) == other
