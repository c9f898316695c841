"""The curves: one small chart for each metric.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Sequence

from launcher.report import scale
from launcher.report.events import Seat
from launcher.report.markup import Markup, join, tag
from launcher.report.scale import Scale
from launcher.report.series import Band, Chart, Line

_WIDTH, HEIGHT = 345, 190
_LEFT, _RIGHT, _TOP, BOTTOM = 52, 12, 8, 34
DOTS = 100  # points in a chart that are still seen one by one


def curves(charts: Sequence[Chart], more: int) -> Markup:
    """Return the charts, a legend of ranks, and a sentence where charts are left out."""
    seats = sorted({line.seat for chart in charts for line in chart.lines})
    spans = any(line.span for chart in charts for line in chart.lines)
    return join(
        _legend(seats, many=any(chart.band for chart in charts), spans=spans),
        tag("div", *(_figure(chart, seats) for chart in charts), class_="charts"),
        tag("p", f"{more:,} more metrics are not drawn.", class_="note") if more else "",
    )


def _legend(seats: Sequence[Seat], *, many: bool, spans: bool) -> Markup:
    items = [
        tag("li", tag("svg", tag("path", d="M0 7h22", class_=_line(place)), width=22, height=14), str(seat))
        for place, seat in enumerate(seats)
    ]
    if many:
        swatch = tag("path", d="M0 2h22v10h-22z", class_="band"), tag("path", d="M0 7h22", class_="line l0")
        items.append(tag("li", tag("svg", *swatch, width=22, height=14), "mean of the ranks, from lowest to highest"))
    if spans:
        area = tag("path", d="M0 2h22v10h-22z", class_="band")
        items.append(tag("li", tag("svg", area, width=22, height=14), "from lowest to highest around the mean"))
    return tag("ul", *items, class_="legend")


def _line(place: int) -> str:
    return f"line l{place % 8}"


def _figure(chart: Chart, seats: Sequence[Seat]) -> Markup:
    about = "no finite value"
    if chart.last is not None:
        about = f"last {scale.number_text(chart.last)}" + (f", mean of {chart.ranks}" if chart.ranks > 1 else "")
    caption = tag("figcaption", tag("b", chart.name or "(no name)"), tag("span", about))
    strange = f"{chart.strange:,} values were not finite" if chart.strange else ""
    return tag("figure", caption, _drawing(chart, seats), tag("p", strange, class_="warn") if strange else "")


def _drawing(chart: Chart, seats: Sequence[Seat]) -> Markup:
    places, values = _extent(chart)
    if not places:
        return Markup("")
    x = Scale(low=min(places), high=max(places), start=_LEFT, end=_WIDTH - _RIGHT)
    low, high = min(values), max(values)
    room = (high - low) * 0.04 or abs(high) * 0.04 or 1.0
    y = Scale(low=low - room, high=high + room, start=HEIGHT - BOTTOM, end=_TOP)
    drawn = [_grid(chart.axis, x, y)]
    if chart.band:
        drawn.append(_band(chart.band, x, y, chart.axis))
    drawn += [_area(line.span, x, y, f"band b{seats.index(line.seat) % 8}") for line in chart.lines if line.span]
    dots = sum(len(line.points) for line in chart.lines) <= DOTS
    drawn += [_curve(line, seats.index(line.seat), x, y, chart.axis, dots=dots) for line in chart.lines]
    label = f"{chart.name} over {chart.axis}"
    return tag("svg", *drawn, viewBox=f"0 0 {_WIDTH} {HEIGHT}", role="img", aria_label=label)


def _extent(chart: Chart) -> tuple[list[float], list[float]]:
    points = [point for line in chart.lines for point in line.points]
    bands = [band for band in (chart.band, *(line.span for line in chart.lines)) if band]
    spread = [each for band in bands for each in band.points]
    places = [place for place, _ in points] + [each[0] for each in spread]
    return places, [value for _, value in points] + [value for each in spread for value in (each[1], each[3])]


def _grid(axis: str, x: Scale, y: Scale) -> Markup:
    drawn = []
    for value in scale.ticks(y.low, y.high, 6):
        at = y.at(value)
        drawn.append(tag("path", d=f"M{x.start} {at:.1f}H{x.end}", class_="grid"))
        drawn.append(tag("text", scale.number_text(value), x=float(x.start - 6), y=at + 3.5, class_="tick end"))
    for value in _places(axis, x):
        drawn.append(tag("text", _place(axis, value), x=x.at(value), y=HEIGHT - 19, class_="tick"))
    middle = (x.start + x.end) / 2
    drawn.append(tag("text", "time" if axis == "time" else axis, x=middle, y=HEIGHT - 4, class_="tick name"))
    return join(*drawn)


def _places(axis: str, x: Scale) -> Sequence[float]:
    if axis == "time":
        return [each for each in scale.time_ticks(x.high, 5) if each >= x.low] or [x.low]
    return [each for each in scale.ticks(x.low, x.high, 6) if each == int(each)] or [x.low]


def _place(axis: str, value: float) -> str:
    return scale.tick_label(value) if axis == "time" else scale.number_text(value)


def _curve(line: Line, place: int, x: Scale, y: Scale, axis: str, *, dots: bool) -> Markup:
    points = [(x.at(at), y.at(value)) for at, value in line.points]
    drawn = [tag("path", tag("title", str(line.seat)), d=scale.positions(points), class_=_line(place))]
    if dots or len(points) == 1:
        for (at, value), (across, up) in zip(line.points, points, strict=True):
            title = tag("title", f"{line.seat}, {_told(axis, at)}: {scale.number_text(value)}")
            drawn.append(tag("circle", title, cx=across, cy=up, r=2.2, class_=f"dot d{place % 8}"))
    return join(*drawn)


def _told(axis: str, value: float) -> str:
    return f"after {scale.duration(value)}" if axis == "time" else f"{axis} {value:.4g}"


def _band(band: Band, x: Scale, y: Scale, axis: str) -> Markup:
    drawn = [_area(band, x, y, "band")]
    middle = [(x.at(at), y.at(mean)) for at, _, mean, _ in band.points]
    drawn.append(tag("path", tag("title", "mean of the ranks"), d=scale.positions(middle), class_="line l0"))
    for (at, low, mean, high), (across, up) in zip(band.points, middle, strict=True):
        means = " to ".join(map(scale.number_text, (low, high)))
        words = f"{_told(axis, at)}: mean {scale.number_text(mean)}, {means}"
        if len(band.points) <= DOTS:
            drawn.append(tag("circle", tag("title", words), cx=across, cy=up, r=2.2, class_="dot d0"))
    return join(*drawn)


def _area(band: Band, x: Scale, y: Scale, kind: str) -> Markup:
    upper = [(x.at(at), y.at(high)) for at, _, _, high in band.points]
    lower = [(x.at(at), y.at(low)) for at, low, _, _ in reversed(band.points)]
    return tag("path", d=scale.positions([*upper, *lower]) + "z", class_=kind)
