"""How the faults under frameworks are told: medians and ranges, what stood still, goals that are missed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.framework_gangs import Note
from bench.framework_table import Row, Seen, cells, misses, spread, written
from bench.frameworks import AT_START, CASES, IN_SAVING, IN_TRAINING, point

GOOD = Seen(told=0.02, codes={0: 0, 1: 0, 2: 0}, again=2.0, back=3.0, lost=0, saved=5, took=8.0)
STILL = Seen(told=None, codes={1: -9}, again=None, back=None, lost=None, saved=2, took=70.0)


def row(*ours: Seen, bare: Seen = STILL) -> Row:
    return Row(fault="killed", moment="in training", kills=True, restarts=True, ours=ours, bare=[bare])


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([0.02, 0.01, 0.5], "20 ms (10 to 500)"),
        ([1.5, 60.25, 2.0], "2 s (1.5 to 60.2)"),
        ([0.9, 1.7, 0.6], "0.9 s (0.6 to 1.7)"),
        ([0.02], "20 ms"),
        ([0.02, None, 0.04], "30 ms (20 to 40), 1 times not"),
        ([None], "no"),
    ],
)
def test_seconds_as_a_median_with_the_range(values: list[float | None], told: str) -> None:
    assert spread(values) == told


def test_a_row_has_ours_and_the_bare_programs() -> None:
    ours = ("killed", "in training", "20 ms (20 to 30)", "2 s (2 to 2)", "3 s (3 to 3)", "0", "0, 0, 0")
    bare = ("stood still after 60 s", "no", "still runs, -9, still runs", "2")
    assert cells(row(GOOD, replace(GOOD, told=0.03), GOOD)) == (*ours, *bare)


def test_different_ends_are_all_told() -> None:
    ended = replace(STILL, told=0.1, codes={0: 1, 1: -9, 2: -6})
    assert cells(row(GOOD, bare=ended))[7:] == ("100 ms", "no", "1, -9, -6", "2")
    assert cells(row(GOOD, replace(GOOD, codes={0: 1, 1: 1, 2: 1}, lost=1)))[5:7] == ("0 or 1", "0, 0, 0 or 1, 1, 1")


@pytest.mark.parametrize(
    ("seen", "sentence"),
    [
        (replace(GOOD, told=0.051), "the others have TERM after 51 ms, over the goal of 50 ms"),
        (replace(GOOD, codes={0: 0, 1: 1, 2: 0}), "not one verdict on every rank"),
        (replace(GOOD, codes={0: 0, 1: 0}), "not one verdict on every rank"),
        (replace(GOOD, lost=1), "not all went on from the last pass"),
        (replace(GOOD, back=None), "not all went on from the last pass"),
    ],
)
def test_a_goal_that_is_missed_has_a_sentence(seen: Seen, sentence: str) -> None:
    assert list(misses(row(GOOD))) == []
    assert list(misses(row(seen))) == [f"killed, in training: {sentence}."]


def test_no_time_at_all_is_in_time() -> None:
    assert list(misses(row(replace(GOOD, told=0.0)))) == []


def test_without_a_restart_nobody_goes_on() -> None:
    ended = replace(GOOD, codes={0: 137, 1: 137, 2: 137}, again=None, back=None, lost=None)
    assert list(misses(replace(row(ended), restarts=False))) == []


def test_every_fault_comes_at_every_moment() -> None:
    assert {(fault.title, moment.title) for fault, moment in CASES if fault.restarts} == {
        (fault, moment.title)
        for fault in ("killed", "stopped", "pod deleted")
        for moment in (AT_START, IN_TRAINING, IN_SAVING)
    }


def test_a_save_comes_after_every_step_of_its_pass() -> None:
    notes = [Note.of(f"1000000000 1 17 {what}") for what in ("up", "step 0 3", "saving 0", "step 1 0")]
    assert [note.at for note in notes] == [1.0] * 4
    assert sorted(map(point, notes)) == list(map(point, notes))


def test_a_part_of_the_page_is_replaced_and_the_rest_stays() -> None:
    page = written(written("# Page\n", "jax", "one"), "torch", "two")
    again = written(page, "jax", "three")
    assert "one" not in again
    assert [line for line in again.splitlines() if line[:1] not in ("", "<")] == ["# Page", "three", "two"]
