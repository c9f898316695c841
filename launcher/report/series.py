"""The reported metrics as lines to draw: each thinned to what can be seen.

No I/O here. Where a pass was run again after a restart, the later run counts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from launcher.report.events import Progress, Seat

SINGLE = 8  # ranks that have a line each; more become a band
BUCKETS = 120
CHARTS = 24
Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """At each place, or over each stretch of them: the lowest, the mean and the highest value."""

    points: tuple[tuple[float, float, float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A rank's values, in order; of more than can be seen the mean of each stretch, and the span around it."""

    seat: Seat
    points: tuple[Point, ...]
    span: Band | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One metric: `lines` of few ranks or a `band` of many, and how many values were no finite numbers."""

    name: str
    axis: str
    lines: tuple[Line, ...]
    band: Band | None
    ranks: int
    last: float | None
    strange: int


def charts_of(progress: Sequence[Progress], begun: float) -> tuple[tuple[Chart, ...], int]:
    """Return a chart for each metric in the order of their first report, and how many more metrics there are."""
    axis, place = _axis(progress, begun)
    points: dict[str, defaultdict[Seat, list[Point]]] = {}
    strange: defaultdict[str, int] = defaultdict(int)
    more: set[str] = set()
    for at, each in _kept([(place(each), each) for each in progress]):
        for name in (*each.metrics, *each.strange):
            if name not in points and len(points) == CHARTS:
                more.add(name)
                continue
            by_seat = points.setdefault(name, defaultdict(list))
            if name in each.metrics:
                by_seat[each.seat].append((at, each.metrics[name]))
            else:
                strange[name] += 1
    return tuple(_chart(name, axis, by_seat, strange[name]) for name, by_seat in points.items()), len(more)


def _axis(progress: Sequence[Progress], begun: float) -> tuple[str, Callable[[Progress], float]]:
    """Return what the horizontal axis counts: passes where there are several, else steps, else seconds."""
    passes = {each.pass_ for each in progress}
    if None not in passes and len(passes) > 1:
        base, span = _steps(progress)
        return "pass", lambda each: (each.pass_ or 0) + _share(each, base, span)
    if progress and all(each.step is not None for each in progress) and len({each.step for each in progress}) > 1:
        return "step", lambda each: float(each.step or 0)
    return "time", lambda each: each.at - begun


def _steps(progress: Iterable[Progress]) -> tuple[Mapping[int, int], int]:
    """Return the step at which each pass began, and the most steps in any: steps may count on over passes."""
    low: dict[int, int] = {}
    high: dict[int, int] = {}
    for each in progress:
        if each.pass_ is not None and each.step is not None:
            low[each.pass_] = min(low.get(each.pass_, each.step), each.step)
            high[each.pass_] = max(high.get(each.pass_, each.step), each.step)
    order = sorted(low)
    pairs = list(pairwise(order))
    counts_on = bool(pairs) and all(low[after] > high[before] for before, after in pairs)
    base = dict.fromkeys(order, 0)
    if counts_on:
        base = {order[0]: max(0, 2 * low[order[0]] - low[order[1]])} | {
            after: high[before] for before, after in pairs
        }
    return base, max((high[each] - base[each] for each in order), default=0)


def _share(each: Progress, base: Mapping[int, int], span: int) -> float:
    if each.step is None or span <= 0:
        return 0.0
    return min(1.0, max(0.0, (each.step - base[each.pass_ or 0]) / span))


def _kept(placed: Sequence[tuple[float, Progress]]) -> Iterable[tuple[float, Progress]]:
    """Leave out what a later generation ran again: all of it begins again at the place that its first report has.

    A rank alone does not tell: in an old file its next line may come long after that.
    """
    first: dict[int, float] = {}
    for at, each in placed:
        first[each.generation] = min(first.get(each.generation, at), at)
    until: dict[int, float] = {}
    lowest = math.inf
    for generation in sorted(first, reverse=True):
        until[generation] = lowest
        lowest = min(lowest, first[generation])
    return ((at, each) for at, each in placed if at < until[each.generation])


def _chart(name: str, axis: str, by_seat: Mapping[Seat, Sequence[Point]], strange: int) -> Chart:
    ordered = {seat: sorted(by_seat[seat], key=lambda point: point[0]) for seat in sorted(by_seat)}
    many = len(ordered) > SINGLE
    ends = [points[-1][1] for points in ordered.values()]
    return Chart(
        name=name,
        axis=axis,
        lines=() if many else tuple(chart_line(seat, points) for seat, points in ordered.items()),
        band=band_of(list(ordered.values())) if many else None,
        ranks=len(ordered),
        last=math.fsum(ends) / len(ends) if ends else None,
        strange=strange,
    )


def chart_line(seat: Seat, points: Sequence[Point]) -> Line:
    """Return a line that can be seen; its span is there so that no spike is lost."""
    if len(points) <= 2 * BUCKETS:
        return Line(seat=seat, points=tuple(points))
    span = Band(points=tuple(_spread(bucket) for bucket in _buckets(points)))
    return Line(seat=seat, points=tuple((place, mean) for place, _, mean, _ in span.points), span=span)


def band_of(lines: Sequence[Sequence[Point]]) -> Band:
    """Return low, mean and high over all ranks at each place, or over each stretch where there are too many."""
    points = sorted(point for line in lines for point in line)
    places = {place for place, _ in points}
    groups: Iterable[Sequence[Point]]
    if len(places) <= BUCKETS:
        by_place: defaultdict[float, list[Point]] = defaultdict(list)
        for point in points:
            by_place[point[0]].append(point)
        groups = by_place.values()
    else:
        groups = _buckets(points)
    return Band(points=tuple(_spread(group) for group in groups))


def _spread(group: Sequence[Point]) -> tuple[float, float, float, float]:
    values = [value for _, value in group]
    mean = math.fsum(values) / len(values)
    return math.fsum(place for place, _ in group) / len(group), min(values), mean, max(values)


def _buckets(points: Sequence[Point]) -> Iterable[Sequence[Point]]:
    low, high = points[0][0], points[-1][0]
    width = (high - low) / BUCKETS or 1.0
    buckets: defaultdict[int, list[Point]] = defaultdict(list)
    for point in points:
        buckets[min(BUCKETS - 1, int((point[0] - low) / width))].append(point)
    return buckets.values()
