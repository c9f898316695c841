"""Numbers, times and positions as people read them.

No I/O here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MINUTE, HOUR, DAY = 60, 3600, 86400
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY)
_UNITS = ((DAY, "d", HOUR, "h"), (HOUR, "h", MINUTE, "min"), (MINUTE, "min", 1, "s"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """From values to positions on the page."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return where a value stands; all values stand in the middle where there is but one."""
        if self.high <= self.low:
            return (self.start + self.end) / 2
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)


def ticks(low: float, high: float, count: int = 4) -> tuple[float, ...]:
    """Return round values within a span, about so many."""
    span = high - low
    if not 1e-300 < span < 1e305:
        return (low,)
    power = 10.0 ** math.floor(math.log10(span / count))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if span / (power * factor) <= count)
    return _multiples(low, high, step)


def time_ticks(span: float, count: int = 8) -> tuple[float, ...]:
    """Return round numbers of seconds from 0 on."""
    if span < 5:
        return ticks(0, span, count) if span > 0 else (0.0,)
    step = next((each for each in STEPS if span / each <= count), None)
    return _multiples(0, span, step or DAY * math.ceil(span / DAY / count))


def _multiples(low: float, high: float, step: float) -> tuple[float, ...]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(number * step for number in range(first, min(last, first + 50) + 1))


def duration(seconds: float) -> str:
    """Return a time span in two units at most."""
    if seconds < 10:
        return f"{seconds:.3g} s" if seconds >= 0.001 or seconds == 0 else "under 1 ms"
    whole = math.floor(seconds)
    if whole < MINUTE:
        return f"{seconds:.1f} s"
    unit, name, part, short = next(each for each in _UNITS if whole >= each[0])
    rest = whole % unit // part
    return f"{whole // unit:,} {name} {rest} {short}" if rest else f"{whole // unit:,} {name}"


def tick_label(seconds: float) -> str:
    """Return a time on an axis."""
    return f"{seconds:g} s" if seconds < MINUTE else duration(seconds)


def clock(at: float, *, day: bool = False) -> str:
    """Return a time of day in UTC, to the millisecond."""
    try:
        when = EPOCH + timedelta(seconds=at)
    except OverflowError:
        return "?"
    text = when.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
    return text if day else text[11:]


def number_text(value: float) -> str:
    """Return a metric's value with four digits that count."""
    return f"{int(value):,}" if value == int(value) and abs(value) < 1e6 else f"{value:.4g}"


def positions(points: Sequence[tuple[float, float]]) -> str:
    """Return points as a line's path, each with one digit after the point."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
