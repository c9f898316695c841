"""Rows of two trees, measured in turns: how many times the old figure the new one is, and when that is slower.

Each turn measures the old tree and then the new one, so that both have the same load, and gives one ratio. Between
which two of the ratios their median lies, with 95 % confidence, follows from their number alone, however they spread.
No I/O here.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.rows import Figure, Row
from bench.table import columns, quantity

CONFIDENCE = 0.95
SLOWER = 1.05
FEWEST = 6  # of fewer turns, not even the least ratio and the greatest are such an interval
HEAD = ("what", "turns", "old", "new", "new / old", "95 %", "verdict")

Turn = tuple[Sequence[Row], Sequence[Row]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One row of both trees; the ratio of a rate is the old one's to the new one's, so that more is always worse."""

    what: str
    unit: str
    turns: int
    old: Figure
    new: Figure
    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Whether the whole interval lies on one side."""
        if self.low > SLOWER:
            return "slower"
        return "faster" if self.high < 1 / SLOWER else ""


def compared(turns: Sequence[Turn]) -> tuple[Compared, ...]:
    """Return each row that has a figure; a turn is the rows of the old tree, and those of the new one."""
    olds, news = ([_by_name(turn[at]) for turn in turns] for at in (0, 1))
    return tuple(_compared(row, [each[what] for each in olds], [each[what] for each in news])
                 for what, row in news[0].items() if row.ours)  # fmt: skip


def unmeasured(turns: Sequence[Turn]) -> tuple[str, ...]:
    """Return a sentence for each row that has no figure."""
    return tuple(f"{what}: {row.note}." for what, row in _by_name(turns[0][1]).items() if not row.ours)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return between which two of the values their median lies, with 95 % confidence; 0 and infinity of too few."""
    ordered = sorted(values)
    count = len(ordered)
    outside, at = 0.0, -1
    while outside <= (1 - CONFIDENCE) / 2:
        at += 1
        outside += math.comb(count, at) / 2**count  # that so many of the values lie below the median
    return (ordered[at - 1], ordered[count - at]) if at else (0.0, math.inf)


def table(rows: Sequence[Compared]) -> str:
    """Return the rows in columns."""
    return columns(
        HEAD,
        [
            (
                row.what,
                str(row.turns),
                quantity(row.old, row.unit),
                quantity(row.new, row.unit),
                f"{row.ratio:.2f}",
                f"{row.low:.2f} to {row.high:.2f}",
                row.verdict,
            )
            for row in rows
        ],
    )


def slower(rows: Sequence[Compared]) -> str:
    """Return a sentence for each row that is slower, or one that says that none is."""
    found = [
        f"- slower: {row.what}: {row.ratio:.2f} times the old figure ({row.low:.2f} to {row.high:.2f})."
        for row in rows
        if row.verdict == "slower"
    ]
    return "\n".join(found) or f"No row is slower: none has its whole interval above {SLOWER}."


def _by_name(rows: Sequence[Row]) -> dict[str, Row]:
    return {row.what: row for row in rows}


def _compared(row: Row, olds: Sequence[Row], news: Sequence[Row]) -> Compared:
    before, after = ([each.ours.median for each in several if each.ours] for several in (olds, news))
    ratios = [_ratio(*(reversed(pair) if row.more else pair)) for pair in zip(before, after, strict=True)]
    low, high = interval(ratios)
    return Compared(
        what=row.what,
        unit=row.unit,
        turns=len(ratios),
        old=Figure.of(before),
        new=Figure.of(after),
        ratio=statistics.median(ratios),
        low=low,
        high=high,
    )


def _ratio(old: float, new: float) -> float:
    if old == new:
        return 1.0  # both may be 0, as the wake-ups of an init are
    return new / old if old else math.inf
