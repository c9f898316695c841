"""When a trainer stands still: tables of looks at it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launcher.pod.programs.watching.stall_rule import (
    Sample,
    StallState,
    begin,
    observe,
    stall_due,
    stall_words,
    stalled,
)

START = Sample(output=100, cpu=8.0, progress="pass 1")
TIMEOUT = 60.0


def looks(*samples: Sample, every: float = 5.0, timeout: float = TIMEOUT) -> StallState:
    state = begin(START, 1000.0)
    for number, sample in enumerate(samples, 1):
        state = observe(state, sample, 1000.0 + number * every, timeout)
    return state


def test_one_that_does_nothing_for_the_whole_time_out_is_stalled_and_not_before() -> None:
    assert not stalled(looks(*[START] * 11), TIMEOUT)
    assert stalled(looks(*[START] * 12), TIMEOUT)


ALIVE = {
    "output": Sample(output=101, cpu=8.0, progress="pass 1"),
    "output that was counted anew": Sample(output=0, cpu=8.0, progress="pass 1"),
    "progress": Sample(output=100, cpu=8.0, progress="pass 2"),
    "CPU": Sample(output=100, cpu=9.0, progress="pass 1"),
    "CPU just above the line": Sample(output=100, cpu=8.56, progress="pass 1"),
    "a helper that ended": Sample(output=100, cpu=7.0, progress="pass 1"),
    "a wait for others": Sample(output=100, cpu=8.0, progress="pass 1", waiting=True),
}


@pytest.mark.parametrize("sign", ALIVE.values(), ids=ALIVE)
def test_every_sign_of_life_begins_the_time_out_anew(sign: Sample) -> None:
    then = Sample(output=sign.output, cpu=sign.cpu, progress=sign.progress)
    state = looks(*[START] * 10, sign)
    assert (state.still, stalled(state, TIMEOUT)) == (0, False)
    assert not stalled(looks(*[START] * 10, sign, *[then] * 11), TIMEOUT)
    assert stalled(looks(*[START] * 10, sign, *[then] * 12), TIMEOUT)


def test_less_than_a_hundredth_of_a_core_is_no_work() -> None:
    """A thread that wakes ten times a second uses about this much."""
    idle = [Sample(output=100, cpu=8.0 + 0.009 * 5 * number, progress="pass 1") for number in range(1, 13)]
    busy = [Sample(output=100, cpu=8.0 + 0.011 * 5 * number, progress="pass 1") for number in range(1, 13)]
    assert stalled(looks(*idle), TIMEOUT)
    assert looks(*busy).still == 0


def test_one_that_waits_at_a_barrier_is_never_stalled() -> None:
    waiting = Sample(output=100, cpu=8.0, progress="pass 1", waiting=True)
    assert looks(*[waiting] * 1000).still == 0


def test_one_that_is_watched_for_what_it_waits_for_is_still_while_that_does_not_change() -> None:
    one, other = (replace(START, waits=name) for name in ("one", "other"))
    assert stalled(looks(one, *[one] * 12), TIMEOUT)
    assert not stalled(looks(one, *[one] * 11, other, *[other] * 11), TIMEOUT)
    assert stalled(looks(one, *[one] * 5, other, *[other] * 12), TIMEOUT)


def test_work_after_a_long_rest_is_seen_at_the_next_look() -> None:
    state = looks(*[START] * 11, Sample(output=100, cpu=13.0, progress="pass 1"))
    assert not stalled(state, TIMEOUT)


@pytest.mark.parametrize(("timeout", "rest"), [(0.5, 3600.0), (5.0, 60.0), (60.0, 60.0), (3600.0, 86400.0)])
def test_time_in_which_nobody_looked_does_not_count(timeout: float, rest: float) -> None:
    """A pod that was frozen wakes after a minute: its trainer did nothing, as nobody there did."""
    state = begin(START, 0.0)
    now = 0.0
    while state.still < timeout / 2:
        now = stall_due(state, timeout)
        state = observe(state, START, now, timeout)
    state = observe(state, START, now + rest, timeout)
    assert state.still <= 0.8 * timeout
    assert not stalled(state, timeout)


def test_looks_that_come_late_on_a_busy_machine_still_add_up() -> None:
    assert stalled(looks(*[START] * 6, every=10.0), TIMEOUT)


def test_looks_at_any_time_are_as_good() -> None:
    state = looks(*[START] * 5999, every=0.01)
    assert state.still == pytest.approx(59.99)
    assert not stalled(state, TIMEOUT)


@pytest.mark.parametrize(
    ("timeout", "wait"), [(0.1, 0.05), (0.5, 0.05), (1.0, 0.1), (30.0, 3.0), (50.0, 5.0), (7200.0, 5.0)]
)
def test_the_next_look_is_a_tenth_of_the_time_out_away_within_bounds(timeout: float, wait: float) -> None:
    assert stall_due(begin(START, 1000.0), timeout) == pytest.approx(1000.0 + wait)


def test_a_stall_is_found_within_a_tenth_of_the_time_out() -> None:
    state, now = begin(START, 0.0), 0.0
    while not stalled(state, 1.0):
        now = stall_due(state, 1.0)
        state = observe(state, START, now, 1.0)
    assert 1.0 <= now <= 1.1 + 1e-9


@pytest.mark.parametrize(
    ("seconds", "stacks", "expected"),
    [
        (
            60.0,
            True,
            "trainer 1 stood still for 60 s (no output, no CPU, no progress); "
            "the stacks of its threads are in its log",
        ),
        (0.5, False, "trainer 1 stood still for 0.5 s (no output, no CPU, no progress)"),
    ],
)
def test_the_words_promise_stacks_only_where_there_are_any(seconds: float, stacks: bool, expected: str) -> None:
    assert stall_words("trainer 1", seconds, stacks=stacks) == expected
