"""What is measured: figures with their spread, rows with their goal, and rounds that take turns.

No I/O here.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

Values = Mapping[str, float]
Measure = Callable[[], Values]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A median, and the quartiles around it."""

    median: float
    low: float
    high: float
    constructed: bool = False

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        """Return the figure of what was measured."""
        if len(values) == 1:
            return cls(median=values[0], low=values[0], high=values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median=median, low=low, high=high)

    @classmethod
    def by_construction(cls, value: float) -> Figure:
        """Return a figure that follows from how the thing is made, and was not measured."""
        return cls(median=value, low=value, high=value, constructed=True)


Figures = Mapping[str, Mapping[str, Figure]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table: ours and one peer, or why one of them has no figure."""

    what: str
    unit: str
    ours: Figure | None
    against: str
    peer: Figure | None = None
    goal: float | None = None
    more: bool = False
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times the peer's figure ours is."""
        if self.ours is None or self.peer is None or not self.peer.median:
            return None
        return self.ours.median / self.peer.median

    @property
    def missed(self) -> bool:
        """Whether ours is on the wrong side of the goal."""
        if self.ours is None or self.goal is None:
            return False
        return self.ours.median < self.goal if self.more else self.ours.median > self.goal


def rows(row: Row, key: str, figures: Figures, peers: Sequence[str]) -> tuple[Row, ...]:
    """Return a row for each peer, with one of the values that were measured; `ours` is the name of ours."""
    ours = figures["ours"][key]
    found = [(peer, figures.get(peer, {}).get(key)) for peer in peers] or [("", None)]
    return tuple(
        replace(row, ours=ours, against=peer, peer=figure, note=row.note if figure or not peer else "not to be had")
        for peer, figure in found
    )


def in_turns(
    measures: Mapping[str, Measure], rounds: int, progress: Callable[[str], None], *, before: int = 1
) -> Figures:
    """Measure all in turns (A B A B ...), after turns that do not count, and return each one's figures."""
    taken: dict[str, list[Values]] = {name: [] for name in measures}
    for number in range(1 - before, rounds + 1):
        for name, measure in measures.items():
            progress(f"round {number} of {rounds}: {name}")
            values = measure()
            if number > 0:
                taken[name].append(values)
    return {
        name: {key: Figure.of([values[key] for values in several]) for key in several[0]}
        for name, several in taken.items()
    }
