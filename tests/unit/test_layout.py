import pytest

from launcher.pod.outcome import ShardError
from launcher.pod.staging.layout import find_shard

NONE: tuple[str, ...] = ()


def find(rank: int, trainers: int, by_rank: tuple[str, ...], under_data: tuple[str, ...]) -> tuple[str, ...]:
    return find_shard(
        rank, trainers, job_dir="/mnt/job", counted_by="TRAINERS", by_rank=by_rank, under_data=under_data
    )


@pytest.mark.parametrize(
    ("by_rank", "under_data", "expected"),
    [
        (("0", "1", "2"), NONE, ("1", "data")),
        (NONE, ("2", "0", "1"), ("data", "1")),
        (NONE, NONE, ()),
    ],
)
def test_each_layout_leads_to_the_ranks_own_shard(
    by_rank: tuple[str, ...], under_data: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert find(1, 3, by_rank, under_data) == expected


@pytest.mark.parametrize(
    ("by_rank", "under_data", "told"),
    [
        (("1", "0"), ("2", "10"), "/mnt/job holds shards in both layouts, 0/data and data/2: expected one of them"),
        (("0", "1"), NONE, "/mnt/job/<rank>/data: missing: 2; expected one shard for each trainer, 0 to 2"),
        (("0", "2"), NONE, "missing: 1;"),
        (NONE, ("0", "1", "2", "3"), "/mnt/job/data/<rank>: not expected: 3;"),
        (NONE, ("1", "2", "3"), "missing: 0; not expected: 3;"),
        (NONE, ("00", "01", "02"), "missing: 0, 1, 2; not expected: 00, 01, 02;"),
        (NONE, ("0", "1", "02"), "as TRAINERS says: split the data into 3, or start as many trainers as there are"),
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
        find(0, 1000, ("0",), NONE)
