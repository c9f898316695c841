"""The curves' points: where they stand, which of them count, and how few are enough."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from launcher.report.curves import curves
from launcher.report.events import Progress, Seat
from launcher.report.series import BUCKETS, CHARTS, Chart, band_of, chart_line, charts_of

SEAT = Seat(role="trainer", rank=0)
COST = {"cost": 1.0}


def progress(
    pass_: int | None,
    step: int | None,
    *,
    at: float = 0.0,
    generation: int = 1,
    seat: Seat = SEAT,
    metrics: Mapping[str, float] = COST,
    strange: tuple[str, ...] = (),
) -> Progress:
    return Progress(
        at=at,
        generation=generation,
        seat=seat,
        node=seat.rank,
        pass_=pass_,
        step=step,
        metrics=metrics,
        strange=strange,
    )


def only(*told: Progress) -> Chart:
    (chart,), more = charts_of(told, 0.0)
    assert more == 0
    return chart


@pytest.mark.parametrize(
    ("told", "axis", "places"),
    [
        ([(0, None), (1, None)], "pass", [0, 1]),
        ([(0, 50), (0, 100), (1, 50), (1, 100)], "pass", [0.5, 1, 1.5, 2]),
        ([(0, 50), (0, 100), (1, 150), (1, 200)], "pass", [0.5, 1, 1.5, 2]),
        ([(0, 50), (0, 100), (1, None)], "pass", [0.5, 1, 1]),
        ([(0, 0), (1, 0)], "pass", [0, 1]),
        ([(3, 10), (3, 20)], "step", [10, 20]),
        ([(3, 10)], "time", [0]),
        ([(None, 10), (1, None)], "time", [0, 5]),
    ],
    ids=[
        "passes",
        "steps in each",
        "steps counting on",
        "steps now and then",
        "step 0",
        "one pass",
        "one point",
        "none",
    ],
)
def test_the_axis_counts_passes_steps_or_seconds(
    told: list[tuple[int | None, int | None]], axis: str, places: list[float]
) -> None:
    chart = only(*(progress(each[0], each[1], at=5.0 * number) for number, each in enumerate(told)))
    assert chart.axis == axis
    assert [place for place, _ in chart.lines[0].points] == places
    curves([chart], 0)


def test_a_pass_that_was_run_again_counts_as_the_later_generation_told_it() -> None:
    first = [progress(number, None, metrics={"cost": 9.0}) for number in range(4)]
    again = [progress(number, None, generation=2) for number in range(2, 6)]
    assert only(*first, *again).lines[0].points == ((0, 9), (1, 9), (2, 1), (3, 1), (4, 1), (5, 1))


def test_a_rank_that_is_noted_seldom_goes_back_with_all_others() -> None:
    """Of an old file's ranks only the first that comes to a pass is noted at once."""
    other = Seat(role="trainer", rank=1)
    seldom = [progress(number, None, seat=other, metrics={"cost": 9.0}) for number in (0, 3)]
    again = [progress(2, None, generation=2), progress(5, None, generation=2, seat=other)]
    chart = only(*(progress(number, None) for number in range(4)), *seldom, *again)
    assert [[place for place, _ in line.points] for line in chart.lines] == [[0, 1, 2], [0, 5]]


def test_a_long_line_becomes_its_mean_and_its_span_and_loses_no_spike() -> None:
    points = [(float(place), math.sin(place)) for place in range(20_000)]
    points[777] = (777.0, 50.0)
    line = chart_line(SEAT, points)
    assert line.span
    assert len(line.points) == len(line.span.points) == BUCKETS
    assert max(high for _, _, _, high in line.span.points) == 50
    assert chart_line(SEAT, points[: 2 * BUCKETS]).span is None
    assert chart_line(SEAT, [(1.0, float(value)) for value in range(1000)]).points == ((1.0, 499.5),)
    drawn = curves([only(*(progress(1, number) for number in range(1000)))], 0)
    assert "from lowest to highest around the mean" in drawn


def test_many_ranks_become_their_mean_and_their_span() -> None:
    lines = [[(0.0, float(rank)), (1.0, 2.0 * rank)] for rank in range(10)]
    assert band_of(lines).points == ((0, 0, 4.5, 9), (1, 0, 9, 18))
    many = band_of([[(float(place), float(rank)) for place in range(1000)] for rank in range(10)])
    assert len(many.points) == BUCKETS
    assert list(many.points[0][1:]) == pytest.approx([0, 4.5, 9])


def test_a_band_of_many_places_has_no_dots() -> None:
    told = [progress(step, None, seat=Seat(role="trainer", rank=rank)) for rank in range(9) for step in range(160)]
    drawn = curves([only(*told)], 0)
    assert "mean of 9" in drawn
    assert 'class="band"' in drawn


def test_a_metric_without_a_finite_value_is_told_of() -> None:
    chart = only(progress(1, None, metrics={}, strange=("cost",)), progress(2, None, metrics={}, strange=("cost",)))
    assert (chart.last, chart.strange) == (None, 2)
    drawn = curves([chart], 0)
    assert "no finite value" in drawn
    assert "2 values were not finite" in drawn


def test_metrics_beyond_the_first_are_counted_only() -> None:
    charts, more = charts_of([progress(1, 1, metrics={f"m{number}": 0.0 for number in range(CHARTS + 3)})], 0.0)
    assert (len(charts), more) == (CHARTS, 3)
    assert "3 more metrics are not drawn." in curves(charts, more)
    assert charts_of([], 0.0) == ((), 0)


def test_values_that_never_change_stand_in_the_middle() -> None:
    drawn = curves([only(progress(1, None, metrics={"": 0.0}), progress(2, None, metrics={"": 0.0}))], 0)
    assert "(no name)" in drawn
    assert "L333.0 82.0" in drawn
