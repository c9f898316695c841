"""How the rows are shown: a table of text that is markdown too, and a sentence for each goal that is missed.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.rows import Figure, Row

HEAD = ("what", "ours", "against", "its figure", "ours / its", "goal", "held")
BEGIN, END = "<!-- the table: written by `python -m bench --write` -->", "<!-- end of the table -->"


def table(rows: Sequence[Row]) -> str:
    """Return the rows in columns."""
    return columns(HEAD, [_cells(each) for each in _without_echo(rows)])


def columns(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return lines of as many cells as the head has, as a table of text and markdown."""
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    return "".join(_line(line, widths) for line in (head, ["-" * width for width in widths], *lines))


def missed(rows: Sequence[Row]) -> str:
    """Return a sentence for each goal that is missed, or one that says that none is."""
    found = dict.fromkeys(map(_sentence, (row for row in rows if row.missed)))
    measured = any(row.ours is not None for row in rows)
    held = "Every goal that was measured is held." if measured else "Nothing was measured."
    return "\n".join(f"- {sentence}" for sentence in found) or held


def inserted(page: str, text: str, begin: str = BEGIN, end: str = END) -> str:
    """Return a page with a text in the table's place."""
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}"


def _without_echo(rows: Sequence[Row]) -> list[tuple[Row, bool]]:
    """Return each row, and whether it begins a group of rows with the same figure of ours."""
    return [(row, not index or rows[index - 1].what != row.what) for index, row in enumerate(rows)]


def _cells(each: tuple[Row, bool]) -> tuple[str, ...]:
    row, first = each
    ratio = "" if row.ratio is None else _times(row.ratio)
    peer = quantity(row.peer, row.unit) or (row.note if row.ours else "")
    ours = quantity(row.ours, row.unit) or row.note
    if not first:
        return ("", "", row.against, peer, ratio, "", "")
    sign = "at least" if row.more else "at most"
    goal = "" if row.goal is None else "none" if row.goal == 0 else f"{sign} {row.goal:g} {row.unit}"
    held = "" if not goal or row.ours is None else "no" if row.missed else "yes"
    return (row.what, ours, row.against, peer, ratio, goal, held)


def quantity(figure: Figure | None, unit: str) -> str:
    """Return a figure with its quartiles, in words."""
    if figure is None:
        return ""
    if figure.constructed:
        return f"{_number(figure.median)} {unit}, by construction"
    return f"{f'{_number(figure.median)} {unit}'.strip()} ({_number(figure.low)} to {_number(figure.high)})"


def _times(ratio: float) -> str:
    return f"1/{1 / ratio:.0f}" if 0 < ratio < 0.1 else f"{ratio:.0f}x" if ratio >= 9.5 else f"{ratio:.2g}x"


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |\n"


def _sentence(row: Row) -> str:
    if row.ours is None or row.goal is None:
        return ""
    found = f"{row.what}: {_number(row.ours.median)} {row.unit}"
    if row.goal == 0:
        return f"{found}, where there should be none."
    off = abs(row.ours.median / row.goal - 1)
    side = "under" if row.more else "over"
    return f"{found}, {off:.0%} {side} the goal of {row.goal:g} {row.unit}."
