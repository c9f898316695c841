"""Who is told as slow: tables of steps and seconds, window by window."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.pod.gang.protocol.messages import AlarmTold, Pace, Trouble
from launcher.pod.gang.protocol.skew import SkewState, ratios, skewed

Made = tuple[int, float]  # steps in a window, and the seconds that each took


def windows(*each: Sequence[Made], every: float = 10.0) -> tuple[SkewState, list[AlarmTold]]:
    """Return the state after windows in which the ranks made steps, and all that was told."""
    told: list[AlarmTold] = []
    state, now = SkewState(), 1000.0
    paces = dict.fromkeys(range(len(each[0])), Pace())
    for made in ([(0, 0.0)] * len(each[0]), *each):
        paces = {
            rank: Pace(steps=paces[rank].steps + steps, busy=paces[rank].busy + steps * seconds)
            for rank, (steps, seconds) in enumerate(made)
        }
        state, found = skewed(state, paces, now)
        told += found
        now += every
    return state, told


EVEN: Sequence[Made] = [(40, 0.23)] * 8
ONE: Sequence[Made] = [*[(24, 0.23)] * 5, (24, 0.41), *[(24, 0.23)] * 2]


def test_one_that_takes_longer_for_five_windows_is_told_once() -> None:
    assert windows(*[ONE] * 4)[1] == []
    state, told = windows(*[ONE] * 20)
    reason = "trainer 5 takes 1.8 times as long for a step as the gang's median (0.41 s against 0.23 s), for 50 s"
    assert told == [AlarmTold(kind=Trouble.SLOW, rank=5, node="", reason=reason)]
    assert ratios(state) == pytest.approx({rank: 0.41 / 0.23 if rank == 5 else 1.0 for rank in range(8)})


def test_a_window_in_time_begins_the_five_anew() -> None:
    assert windows(*[ONE] * 4, EVEN, *[ONE] * 4)[1] == []
    assert len(windows(*[ONE] * 4, EVEN, *[ONE] * 5)[1]) == 1


@pytest.mark.parametrize(("slow", "told"), [(0.149, False), (0.151, True)])
def test_half_as_long_again_is_the_line(slow: float, told: bool) -> None:
    assert bool(windows(*[[(50, 0.1), (50, 0.1), (50, slow)]] * 6)[1]) is told


def test_of_two_the_faster_is_the_measure() -> None:
    (told,) = windows(*[[(50, 0.2), (50, 0.1)]] * 6)[1]
    assert (told.rank, "2.0 times" in told.reason) == (0, True)


def test_where_half_is_slow_the_other_half_is_the_measure() -> None:
    told = windows(*[[(50, 0.2), (50, 0.1), (50, 0.2), (50, 0.1)]] * 6)[1]
    assert [each.rank for each in told] == [0, 2]


def test_where_all_become_slow_nobody_is() -> None:
    assert windows(EVEN, *[[(10, 0.9)] * 8] * 10)[1] == []


def test_one_alone_has_nobody_to_be_slower_than() -> None:
    state, told = windows(*[[(10, 0.9)]] * 10)
    assert (told, ratios(state)) == ([], {})


def test_a_window_without_steps_counts_for_nothing() -> None:
    none: Sequence[Made] = [*[(24, 0.23)] * 5, (0, 0.0), *[(24, 0.23)] * 2]
    assert windows(*[ONE, none] * 4)[1] == []
    (told,) = windows(*[ONE, none] * 5)[1]
    assert told.reason.endswith("for 90 s")


def test_steps_longer_than_a_window_are_compared_though_they_end_at_different_times() -> None:
    steps: list[Sequence[Made]] = [
        [(window % 3 == 0, 25.0), (window % 3 == 1, 25.0), (window % 6 == 2, 50.0)] for window in range(60)
    ]
    (told,) = windows(*steps)[1]
    assert told.reason.startswith(
        "trainer 2 takes 2.0 times as long for a step as the gang's median (50 s against 25 s)"
    )


def test_what_is_little_of_the_time_is_not_slow() -> None:
    """Where programs wait for most of a step, what they do themselves may differ by any factor."""
    assert windows(*[[(10, 0.001), (10, 0.001), (10, 0.09)]] * 10)[1] == []


def test_until_half_of_the_gang_makes_steps_nobody_is_slow() -> None:
    none: Made = (0, 0.0)
    assert windows(*[[(50, 0.1), (50, 0.2), none, none, none]] * 10)[1] == []
    assert len(windows(*[[(50, 0.1), (50, 0.2), none, none]] * 10)[1]) == 1


def test_looks_within_a_window_change_nothing() -> None:
    state, _ = windows(EVEN)
    assert skewed(state, {}, state.due - 0.1) == (state, ())


def test_a_trainer_that_counts_anew_begins_anew() -> None:
    state, _ = windows(*[ONE] * 4)
    after, told = skewed(state, {rank: Pace(steps=1, busy=9.0) for rank in range(8)}, state.due)
    assert (told, ratios(after)) == ((), {})


@given(
    st.integers(2, 9).flatmap(
        lambda ranks: st.tuples(
            st.lists(
                st.lists(st.tuples(st.integers(0, 200), st.floats(0, 100)), min_size=ranks, max_size=ranks),
                min_size=1,
                max_size=20,
            ),
            st.floats(10, 1000),
        )
    )
)
def test_whatever_is_made_more_than_half_of_the_gang_is_never_slow_and_each_is_told_once(
    made: tuple[list[list[Made]], float],
) -> None:
    each, every = made
    state, told = windows(*each, every=every)
    assert len({its.rank for its in told}) == len(told)
    slow = [ratio for ratio in ratios(state).values() if ratio > 1]
    assert 2 * len(slow) <= len(ratios(state))
    assert all(lap.slow <= len(each) for lap in state.laps.values())
