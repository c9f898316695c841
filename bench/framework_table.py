"""How the faults under frameworks are shown: a table for each, with a sentence for each goal that is missed.

No I/O here.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.framework_bare import PODS, Subject
from bench.table import columns, inserted

TOLD_GOAL = 50  # milliseconds
WATCHED = 60.0  # seconds after the fault, for the bare programs


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What came of a fault: seconds after it, where it came to that."""

    told: float | None  # after the death: all programs of the other pods had TERM, or had ended by themselves
    codes: Mapping[int, int]  # of those that have ended, by place
    again: float | None  # all had a first step again
    back: float | None  # the one that it was given to was again where it was
    lost: int | None  # passes that were complete, and were begun again
    saved: int  # passes in all
    took: float  # the whole run

    @property
    def stood_still(self) -> bool:
        """Whether somebody still ran when nobody watched any longer."""
        return len(self.codes) < PODS


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """All that was seen of one fault at one moment."""

    fault: str
    moment: str
    kills: bool
    restarts: bool  # whether ours may start again
    ours: Sequence[Seen]
    bare: Sequence[Seen]


HEAD = (
    "fault", "when", "all others have TERM", "all train again", "are where they were", "passes lost", "codes",
    "bare: all others notice", "all train again", "codes", "passes",
)  # fmt: skip


def cells(row: Row) -> tuple[str, ...]:
    """Return a row in words."""
    bare = (_noticed(row.bare), _seconds(row.bare, "again"), _codes(row.bare), _saved(row.bare))
    ours = (_seconds(row.ours, "told"), _seconds(row.ours, "again"), _seconds(row.ours, "back"), _lost(row.ours))
    return (row.fault, row.moment, *ours, _codes(row.ours), *(bare if row.bare else [""] * 4))


def _noticed(several: Sequence[Seen]) -> str:
    if any(each.told is None for each in several):
        return f"stood still after {WATCHED:g} s"
    return _seconds(several, "told")


def _seconds(several: Sequence[Seen], what: str) -> str:
    return spread([getattr(each, what) for each in several])


def spread(values: Sequence[float | None]) -> str:
    """Return the median and the range of seconds, or how many times it did not come to that."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return "no"
    unit, times = ("s", 1) if known[-1] >= 1 else ("ms", 1e3)
    middle, low, high = (f"{value * times:.3g}" for value in (statistics.median(known), known[0], known[-1]))
    never = f", {len(values) - len(known)} times not" if len(known) < len(values) else ""
    return f"{middle} {unit} ({low} to {high}){never}" if len(known) > 1 else f"{middle} {unit}{never}"


def _lost(several: Sequence[Seen]) -> str:
    return " or ".join(sorted({"" if each.lost is None else str(each.lost) for each in several}))


def _codes(several: Sequence[Seen]) -> str:
    words = (", ".join(str(each.codes.get(place, "still runs")) for place in range(PODS)) for each in several)
    return " or ".join(dict.fromkeys(words))


def _saved(several: Sequence[Seen]) -> str:
    return " or ".join(dict.fromkeys(str(each.saved) for each in several))


def section(subject: Subject, rows: Sequence[Row], measured_on: str) -> str:
    """Return a framework's part of the page."""
    missed = [sentence for row in rows for sentence in misses(row)] or ["Every goal is held."]
    return "\n".join(
        (
            f"### {subject.title}",
            "",
            f"Bare: {subject.without}. {measured_on}.",
            "",
            columns(HEAD, [cells(row) for row in rows]),
            *(f"- {sentence}" for sentence in missed),
        )
    )


def misses(row: Row) -> Iterator[str]:
    """Yield a sentence for each goal that ours misses in a row."""
    named = f"{row.fault}, {row.moment}"
    told = statistics.median(math.inf if each.told is None else each.told for each in row.ours)
    if row.kills and 1e3 * told > TOLD_GOAL:
        yield f"{named}: the others have TERM after {1e3 * told:.0f} ms, over the goal of {TOLD_GOAL} ms."
    if any(len(set(each.codes.values())) != 1 or each.stood_still for each in row.ours):
        yield f"{named}: not one verdict on every rank."
    if row.restarts and any(each.lost or each.back is None for each in row.ours):
        yield f"{named}: not all went on from the last pass."


def written(page: str, runtime: str, text: str) -> str:
    """Return a page with a framework's part in its place, or at the end."""
    begin, end = f"<!-- faults of {runtime} -->", f"<!-- end of the faults of {runtime} -->"
    if begin not in page:
        page = f"{page.rstrip()}\n\n{begin}\n{end}\n"
    return inserted(page, text, begin, end)
