"""The loss curve as a picture of strokes and texts, in points from the upper left corner.

No I/O here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from launcher.desk.rehearsal.show import Learned
from launcher.report import scale
from launcher.report.scale import Scale

WIDTH, HEIGHT = 800, 480
LEFT, RIGHT, TOP, BOTTOM = 64, 176, 64, 56
INK, SOFT, FAINT = "#1d2329", "#5c6670", "#e4e8ec"
BLUE, ORANGE = "#1f6fad", "#d98200"  # after Okabe and Ito, told apart by colour-blind readers
DASH = 6
APART = 16  # between two names at the right

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stroke:
    """A line through points; one point alone is a dot."""

    points: tuple[Point, ...]
    color: str
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Words at a point, which is their left (l), middle (m) or right (r)."""

    at: Point
    words: str
    size: int = 13
    color: str = SOFT
    anchor: str = "l"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """All that is to be drawn, in this order."""

    width: int
    height: int
    strokes: tuple[Stroke, ...]
    texts: tuple[Text, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A value by pass, or one level for all of them; its name and how it looks."""

    name: str
    values: Mapping[int, float]
    color: str
    level: bool = False


def of(title: str, learned: Learned) -> Picture:
    """Return the RMSE by pass: on what was held out, while learning, and of a constant guess."""
    squares = {
        number: [found[number] for found in learned.costs.values() if number in found] for number in learned.errors
    }
    roots = {number: math.sqrt(sum(each) / len(each)) for number, each in squares.items() if each}
    curves = [Curve(name="while learning", values=roots, color=ORANGE)] if roots else []
    curves.append(Curve(name="held out", values=learned.errors, color=BLUE))
    if learned.constant is not None:
        level = dict.fromkeys(learned.errors, learned.constant)
        curves.append(Curve(name="guessing the mean", values=level, color=SOFT, level=True))
    return picture(title, "RMSE", curves)


def picture(title: str, unit: str, curves: Sequence[Curve]) -> Picture:
    """Return the curves over their passes, each with its name and last value at the right."""
    passes = [number for curve in curves for number in curve.values]
    values = [value for curve in curves for value in curve.values.values()]
    room = (max(values) - min(values)) * 0.06 or 0.1
    x = Scale(low=min(passes), high=max(passes), start=LEFT, end=WIDTH - RIGHT)
    y = Scale(low=min(values) - room, high=max(values) + room, start=HEIGHT - BOTTOM, end=TOP)
    strokes, texts = _axes(x, y)
    for curve in curves:
        points = tuple((x.at(number), y.at(value)) for number, value in sorted(curve.values.items()))
        strokes += _dashes(x, points[-1][1], curve.color) if curve.level else _line(points, curve.color)
    texts += [Text(at=(LEFT, 24), words=title, size=17, color=INK), Text(at=(LEFT - 10, 50), words=unit, anchor="r")]
    texts += _names(curves, y)
    return Picture(width=WIDTH, height=HEIGHT, strokes=tuple(strokes), texts=tuple(texts))


def _axes(x: Scale, y: Scale) -> tuple[list[Stroke], list[Text]]:
    strokes, texts = [], [Text(at=((x.start + x.end) / 2, HEIGHT - 16), words="pass", anchor="m")]
    for value in scale.ticks(y.low, y.high, 8):
        at = y.at(value)
        strokes.append(Stroke(points=((x.start, at), (x.end, at)), color=FAINT, width=1))
        texts.append(Text(at=(x.start - 10, at), words=scale.number(value), anchor="r"))
    for number in [each for each in scale.ticks(x.low, x.high, 10) if each == int(each)]:
        texts.append(Text(at=(x.at(number), HEIGHT - BOTTOM + 18), words=scale.number(number), anchor="m"))
    strokes.append(Stroke(points=((x.start, y.start), (x.end, y.start)), color=SOFT, width=1))
    return strokes, texts


def _line(points: tuple[Point, ...], color: str) -> list[Stroke]:
    return [
        Stroke(points=points, color=color, width=2.5),
        *(Stroke(points=(p,), color=color, width=6) for p in points),
    ]


def _dashes(x: Scale, at: float, color: str) -> list[Stroke]:
    starts = range(int(x.start), int(x.end), 2 * DASH)
    return [Stroke(points=((each, at), (min(each + DASH, x.end), at)), color=color, width=1.5) for each in starts]


def _names(curves: Sequence[Curve], y: Scale) -> list[Text]:
    """Return each curve's name beside its end, none over another."""
    names: list[Text] = []
    lowest = 0.0
    last = {curve.name: curve.values[max(curve.values)] for curve in curves}
    for curve in sorted(curves, key=lambda each: -last[each.name]):
        lowest = max(y.at(last[curve.name]), lowest + APART)
        words = f"{last[curve.name]:.3f}  {curve.name}"
        names.append(Text(at=(WIDTH - RIGHT + 12, lowest), words=words, color=curve.color))
    return names
