"""Two trees in turns: the interval of the ratio, and when a row is slower."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence

import pytest

from bench.compared import Compared, Turn, compared, interval, slower, table, unmeasured
from bench.rows import Figure, Row


def row(value: float | None, what: str = "start", *, more: bool = False) -> Row:
    ours = None if value is None else Figure.of([value])
    return Row(what=what, unit="ms", ours=ours, against="", more=more, note="" if ours else "not root")


def turns(olds: Sequence[float], news: Sequence[float], *, more: bool = False) -> list[Turn]:
    return [([row(old, more=more)], [row(new, more=more)]) for old, new in zip(olds, news, strict=True)]


def one(olds: Sequence[float], news: Sequence[float], *, more: bool = False) -> Compared:
    (found,) = compared(turns(olds, news, more=more))
    return found


@pytest.mark.parametrize(
    ("count", "cut"), [(6, 0), (8, 0), (9, 1), (12, 2), (20, 5), (30, 9)]
)  # as the sign test's tables have it
def test_the_interval_leaves_out_as_many_at_both_ends_as_95_percent_allow(count: int, cut: int) -> None:
    values = [float(number) for number in range(count)]
    random.Random(1).shuffle(values)  # noqa: S311  # no secret
    assert interval(values) == (cut, count - 1 - cut)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_too_few_turns_have_no_interval(count: int) -> None:
    assert interval([1.0] * count) == (0, math.inf)


@pytest.mark.parametrize("count", [6, 12, 30])
def test_the_interval_holds_the_median_at_least_95_times_of_100(count: int) -> None:
    dice = random.Random(2)  # noqa: S311  # no secret
    held = []
    for _ in range(2000):
        low, high = interval([dice.lognormvariate(0, 1) for _ in range(count)])
        held.append(low <= 1 <= high)
    assert statistics.fmean(held) > 0.94


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([1.2] * 12, "slower"),
        ([1.04] * 12, ""),
        ([1.0] * 3 + [1.2] * 9, ""),  # the third ratio is the interval's low end
        ([1.0] * 2 + [1.2] * 10, "slower"),
        ([1.0, 1.1] * 6, ""),
        ([0.8] * 12, "faster"),
        ([0.8] * 9 + [1.0] * 3, ""),
        ([9.0] * 5, ""),
    ],
)
def test_a_row_is_slower_only_where_the_whole_interval_lies_above_the_limit(
    ratios: list[float], verdict: str
) -> None:
    assert one([10.0] * len(ratios), [10 * each for each in ratios]).verdict == verdict


def test_turns_are_compared_each_by_itself_since_the_load_moves_both() -> None:
    loads = [1, 5, 2, 8, 1, 3, 9, 1]
    found = one([10.0 * each for each in loads], [11.0 * each for each in loads])
    assert [found.low, found.ratio, found.high] == pytest.approx([1.1] * 3)
    assert found.verdict == "slower"


def test_of_a_rate_less_is_slower() -> None:
    assert one([500.0] * 6, [400.0] * 6, more=True).ratio == 1.25


def test_nothing_beside_nothing_is_the_same_and_something_beside_nothing_is_slower() -> None:
    assert (one([0.0] * 6, [0.0] * 6).ratio, one([0.0] * 6, [0.0] * 6).verdict) == (1, "")
    assert (one([0.0] * 6, [2.0] * 6).ratio, one([0.0] * 6, [2.0] * 6).verdict) == (math.inf, "slower")
    assert one([2.0] * 6, [0.0] * 6).verdict == "faster"


def test_a_row_without_a_figure_is_told_and_not_compared() -> None:
    taken: list[Turn] = [([row(1), row(None, "as process 1")], [row(1), row(None, "as process 1")])] * 6
    assert [each.what for each in compared(taken)] == ["start"]
    assert unmeasured(taken) == ("as process 1: not root.",)


def test_a_row_that_stands_beside_several_peers_is_one_row() -> None:
    taken: list[Turn] = [([row(1), row(1)], [row(1), row(1)])] * 6
    assert len(compared(taken)) == 1


def test_the_table_and_the_sentence_show_the_ratio_with_its_interval() -> None:
    found = compared(turns([10.0] * 6, [12.0, 13, 12, 12, 12, 11]))
    line = table(found).splitlines()[2]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "start", "6", "10 ms (10 to 10)", "12 ms (12 to 12)", "1.20", "1.10 to 1.30", "slower",
    ]  # fmt: skip
    assert slower(found) == "- slower: start: 1.20 times the old figure (1.10 to 1.30)."
    assert slower(compared(turns([1.0] * 6, [1.0] * 6))).startswith("No row is slower")
