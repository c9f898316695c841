"""When no step comes for too long: tables of looks at a trainer, and what never counts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.pod.programs.watching.pace_rule import (
    LEAST,
    PaceState,
    late_words,
    limit,
    overdue,
    pace_due,
    paced,
    usual,
    watched_from,
)

START = 1000.0
EVERY = 5.0


def looked(*steps: int, every: float = EVERY, least: float = LEAST, away: float = 0.0) -> PaceState:
    """Return the state after looks that saw so many steps, and in each so many seconds of something else."""
    state = watched_from(0, 0.0, START)
    for number, each in enumerate(steps, 1):
        state = paced(state, each, number * away, START + number * every, least)
    return state


def stood(state: PaceState, looks: int, *, every: float = EVERY, away: float = 0.0) -> PaceState:
    for _ in range(looks):
        state = paced(state, state.steps, state.away + away, state.seen + every, LEAST)
    return state


GOING = looked(*range(10, 110, 10))  # half a second each


def test_no_step_for_a_minute_is_late_and_for_less_is_not() -> None:
    assert usual(GOING) == 0.5
    assert not overdue(stood(GOING, 11), LEAST)
    assert overdue(stood(GOING, 12), LEAST)


def test_slow_steps_have_ten_times_their_median() -> None:
    slow = looked(*(number // 2 for number in range(2, 41)))  # ten seconds each
    assert (usual(slow), limit(slow, LEAST)) == (10.0, 100.0)
    assert not overdue(stood(slow, 19), LEAST)
    assert overdue(stood(slow, 20), LEAST)


def test_the_users_own_time_is_the_least() -> None:
    assert limit(GOING, 2.0) == 5.0
    assert limit(GOING, 300.0) == 300.0


@pytest.mark.parametrize(("steps", "counts"), [(0, False), (5, False), (6, True)])
def test_the_first_five_steps_only_warm_up(steps: int, counts: bool) -> None:
    assert overdue(stood(looked(steps), 100), LEAST) is counts


def test_steps_of_the_warming_up_are_not_in_the_median() -> None:
    assert looked(1, 1, 1, 1, 1, 1, 5, 6).recent == ((1, 5.0),)
    assert looked(4, 10).recent == ((5, 5 / 6),)


def test_the_last_fifty_make_the_median() -> None:
    then = paced(GOING, 150, 0.0, GOING.seen + 5.0, LEAST)
    assert then.recent == ((50, 0.1),)
    half = paced(GOING, 134, 0.0, GOING.seen + 5.0, LEAST)  # 34 of five
    assert sum(count for count, _ in half.recent) == 50
    assert usual(half) == 5 / 34


def test_what_goes_into_something_else_does_not_count() -> None:
    assert stood(GOING, 1000, away=EVERY).still == 0
    assert overdue(stood(GOING, 24, away=EVERY / 2), LEAST)
    assert not overdue(stood(GOING, 23, away=EVERY / 2), LEAST)


def test_only_time_in_which_the_launcher_looked_counts() -> None:
    assert stood(GOING, 1, every=100_000.0).still == 10.0
    assert stood(GOING, 1, every=-100_000.0).still == 0.0


def test_a_stand_is_told_once_and_the_next_one_again() -> None:
    told = replace(stood(GOING, 12), told=True)
    assert not overdue(stood(told, 100), LEAST)
    again = paced(told, told.steps + 20, 0.0, told.seen + EVERY, LEAST)
    assert not again.told
    assert overdue(stood(again, 30), LEAST)


def test_what_went_on_by_itself_may_last_twice_as_long() -> None:
    told = stood(replace(stood(GOING, 12), told=True), 8)  # 100 seconds
    again = paced(told, told.steps + 20, 0.0, told.seen + EVERY, LEAST)
    assert limit(again, LEAST) == 210.0
    untold = stood(GOING, 11)
    assert limit(paced(untold, untold.steps + 1, 0.0, untold.seen + EVERY, LEAST), LEAST) == LEAST


def test_looks_are_ten_in_the_least_time_and_at_most_five_seconds_apart() -> None:
    assert [pace_due(GOING, least) - GOING.seen for least in (60.0, 2.0, 0.1)] == pytest.approx([5.0, 0.2, 0.05])


def test_the_sentence() -> None:
    state = stood(looked(*range(6, 66, 6), every=4.8), 12, every=5.09)
    said = "has made no step for 61 s; its last 50 took 0.8 s each"
    assert late_words(state, works=True) == f"{said}, though it uses CPU"
    assert late_words(state, works=False) == f"{said}, and it uses no CPU"


LOOKS = st.lists(st.tuples(st.integers(0, 20), st.floats(-10, 1000), st.floats(0, 1000)), max_size=60)


@given(LOOKS, st.floats(0.1, 1000))
def test_whatever_is_seen_what_counts_is_no_more_than_what_went_by(
    looks: list[tuple[int, float, float]], least: float
) -> None:
    state, now, since, away = watched_from(0, 0.0, START), START, START, 0.0
    for steps, seconds, aside in looks:
        now, away = now + seconds, away + aside
        new = paced(state, state.steps + steps, away, now, least)
        assert 0 <= new.still <= state.still + max(seconds, 0)
        assert sum(count for count, _ in new.recent) <= 50
        assert len(new.recent) <= 50
        assert limit(new, least) >= least
        assert not (overdue(new, least) and new.still < least)
        state, since = new, now if steps else since
