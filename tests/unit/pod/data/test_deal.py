"""Which slot has which shards, and how many move when slots come or go."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.deal import fewest_moved, moved
from launcher.pod.data.deal import Portion, deal

MOST = 12
PLACES = st.integers(1, MOST)

Gang = tuple[int, int, frozenset[int]]


@st.composite
def gangs(draw: st.DrawFn) -> Gang:
    """Return shards, the most trainers, and slots: as many at the most, some of them above, as spares have them."""
    most = draw(PLACES)
    slots = draw(st.frozensets(st.integers(0, most + 2), min_size=1, max_size=most))
    return draw(st.integers(most, 200)), most, slots


def loads(dealt: Mapping[int, Collection[int]]) -> list[int]:
    return [len(shards) for shards in dealt.values()]


@given(gangs())
def test_every_shard_is_exactly_one_slots_and_no_slot_has_two_more_than_another(gang: Gang) -> None:
    shards, most, slots = gang
    dealt = deal(shards, most, slots)
    assert dealt.keys() == slots
    assert sorted(shard for each in dealt.values() for shard in each) == list(range(shards))
    assert max(loads(dealt)) - min(loads(dealt)) <= 1


@given(gangs(), st.data())
def test_in_whatever_order_the_slots_are_said_the_deal_is_the_same(gang: Gang, data: st.DataObject) -> None:
    shards, most, slots = gang
    said = data.draw(st.permutations(sorted(slots)))
    assert deal(shards, most, said) == deal(shards, most, slots)


@given(PLACES, st.integers(0, 200))
def test_where_all_are_there_and_where_the_width_is_fixed_it_is_every_nth_shard(most: int, more: int) -> None:
    shards = most + more
    for rank in range(most):
        every = tuple(range(rank, shards, most))
        assert deal(shards, most, range(most))[rank] == every
        assert Portion(rank=rank, trainers=most, most=most).of(shards) == every
    assert Portion(rank=0, trainers=1, most=most).of(shards) == tuple(range(shards))


@given(PLACES, st.integers(0, 188), st.data())
def test_those_at_the_top_take_only_what_was_theirs_when_they_go(most: int, more: int, data: st.DataObject) -> None:
    """So a Job is scaled down: who stays keeps all that it has, and nobody could move less."""
    shards = most + more
    wide = data.draw(st.integers(1, most))
    narrow = data.draw(st.integers(1, wide))
    before, after = deal(shards, most, range(wide)), deal(shards, most, range(narrow))
    assert moved(before, after) == fewest_moved(before, range(narrow))
    assert all(set(before[slot]) <= set(after[slot]) for slot in after)
    # And back: each of those who stayed gives what it has too much, but for a shard that another could have given.
    assert moved(after, before) <= fewest_moved(after, range(wide)) + narrow


@given(PLACES, st.integers(0, 188), st.data())
def test_one_that_is_lost_from_a_full_gang_moves_its_own_shards_and_they_come_back_with_it(
    most: int, more: int, data: st.DataObject
) -> None:
    shards, lost = most + more, data.draw(st.integers(0, most - 1))
    full = deal(shards, most, range(most))
    others = set(range(most)) - {lost}
    if others:
        without = deal(shards, most, others)
        assert moved(full, without) == moved(without, full) == len(full[lost]) == fewest_moved(full, others)
    with_spare = deal(shards, most, others | {most + 1})
    assert with_spare[most + 1] == full[lost]
    assert moved(full, with_spare) == len(full[lost])


@given(gangs(), st.data())
def test_one_that_comes_or_goes_among_any_others_moves_little_more_than_it_must(
    gang: Gang, data: st.DataObject
) -> None:
    """Little: up to the shards of two, where many are absent; on average 3 of 100 (bench/deal.md)."""
    shards, most, slots = gang
    slots = frozenset(slot for slot in slots if slot < most)
    other = slots ^ {data.draw(st.integers(0, most - 1))}
    if not slots or not other:
        return
    before = deal(shards, most, slots)
    share = -(-shards // min(len(slots), len(other)))
    assert moved(before, deal(shards, most, other)) <= fewest_moved(before, other) + 2 * share


@pytest.mark.parametrize(
    ("slots", "expected"),
    [
        ((0, 1, 2, 3, 4), {0: (0, 5, 10), 1: (1, 6, 11), 2: (2, 7), 3: (3, 8), 4: (4, 9)}),
        ((0, 1, 2, 3), {0: (0, 5, 10), 1: (1, 6, 11), 2: (2, 4, 7), 3: (3, 8, 9)}),
        ((0, 1, 2), {0: (0, 5, 9, 10), 1: (1, 3, 6, 11), 2: (2, 4, 7, 8)}),
        ((0, 2, 3, 4), {0: (0, 5, 10), 2: (2, 7, 11), 3: (1, 3, 8), 4: (4, 6, 9)}),
        ((0, 2, 3, 4, 6), {0: (0, 5, 10), 6: (1, 6, 11), 2: (2, 7), 3: (3, 8), 4: (4, 9)}),
    ],
)
def test_a_deal_stays_what_it_is(slots: tuple[int, ...], expected: dict[int, tuple[int, ...]]) -> None:
    """Launchers of two versions in one gang would each have another: this may not change between releases."""
    assert deal(12, 5, slots) == expected
