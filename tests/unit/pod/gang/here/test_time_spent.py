"""What a trainer's time goes into beside its steps adds up, whatever begins and ends in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.pod.gang.here.time_spent import TimeSpent

KINDS = ("", "barrier", "saving")


def test_what_is_done_now_counts_until_now() -> None:
    spent = TimeSpent().turned("barrier", 10.0)
    assert spent.seconds(12.0) == {"barrier": 2.0}
    assert spent.turned("barrier", 11.0).seconds(12.0) == {"barrier": 2.0}
    assert spent.turned("", 11.0).seconds(12.0) == {"barrier": 1.0}


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.floats(0, 100)), max_size=30))
def test_the_seconds_of_all_and_of_nothing_are_the_time_that_went_by(turns: list[tuple[str, float]]) -> None:
    now, work, spent = 0.0, 0.0, TimeSpent()
    for kind, seconds in turns:
        spent = spent.turned(kind, now)
        now += seconds
        work += 0.0 if kind else seconds
    assert spent.away(now) == pytest.approx(now - work)


def test_a_clock_that_goes_back_takes_nothing_away() -> None:
    assert TimeSpent().turned("saving", 10.0).seconds(5.0) == {"saving": 0.0}
