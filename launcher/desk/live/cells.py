"""How the table of `paddlectl top` looks: the texts of its cells and of its head, and the same as values.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from launcher.contract import LEAVING
from launcher.desk import columns
from launcher.desk.elastic.taking_part import leaving_line
from launcher.desk.live.rows import GangHead, RankRow
from launcher.text import one_line

RANK_COLUMNS = ("RANK", "POD", "NODE", "PHASE", "PASS", "STEP", "PACE", "SKEW", "CPU", "MEMORY", "LAST LINE")
FIGURES = frozenset(("PASS", "STEP", "PACE", "SKEW", "CPU", "MEMORY"))  # they stand on the right
NO_LEADER = "its leader could not be asked, neither through the API server (pods/proxy) nor from a pod (pods/exec)"
JOB_ENDS = ("Complete", "Failed", "Killed")
TOLD_SKEW = 1.5  # a skew that is worth a colour: the leader tells of it from here on
_UNSEEN = "-"
_NARROW = 20  # letters that a last line has at least
_MI = 1 << 20


def head_lines(name: str, head: GangHead) -> tuple[str, ...]:
    """Return how the gang is, the trouble below it."""
    told = [f"job {name}: {head.state}", head.stage, f"generation {head.generation}" if head.generation else ""]
    told += [str(head.width or "")]
    told += [f"{head.restarts} restart{'' if head.restarts == 1 else 's'}" if head.generation else ""]
    told += ["" if head.goodput is None else f"goodput {head.goodput:.1%}"]
    leaving = leaving_line(head.leaving, head.leaving_for)
    about = {LEAVING: leaving, "waits for": head.waiting, "last trouble": head.trouble}
    lines = [f"{title}: {text}" for title, text in about.items() if text]
    return (", ".join(filter(None, told)), *lines, *(f"alarm: {each}" for each in head.alarms if each))


def texts_of(row: RankRow) -> tuple[str, ...]:
    """Return a row's cells, in the order of the columns."""
    return (
        f"{row.role} {row.rank}" if row.rank >= 0 else row.role,
        row.pod,
        row.node or _UNSEEN,
        row.phase,
        _told(row.at_pass),
        _told(row.step),
        _UNSEEN if row.pace is None else f"{_figures(row.pace)}/s",
        _UNSEEN if row.skew is None else f"{row.skew:.2f}",
        _UNSEEN if row.cpu is None else f"{row.cpu:.2f}",
        _UNSEEN if row.memory is None else f"{row.memory / _MI:,.0f}Mi",
        row.line,
    )


def over_line(name: str, head: GangHead) -> str:
    """Return what is left of the table once the job is over."""
    return f"job {name}: {head.state}\n"


def fitting(width: int) -> tuple[str, ...]:
    """Return the columns of a terminal: what a narrow one has no room for says least."""
    least = {"POD": 150, "NODE": 120, "MEMORY": 100, "CPU": 90}
    return tuple(name for name in RANK_COLUMNS if not width or width >= least.get(name, 0))


def plain_table(rows: Sequence[RankRow], width: int = 0) -> str:
    """Return the table as text; where a width is given, what fits into it."""
    shown = fitting(width)
    texts = [shown, *(tuple(told[name] for name in shown) for told in map(cells_by_name, rows))]
    if width:
        taken = sum(columns.widths([each[:-1] for each in texts])) + 2 * len(shown[:-1])
        room = max(_NARROW, width - taken)
        texts = [(*each[:-1], one_line(each[-1], room)) for each in texts]
    wide = columns.widths(texts)
    return "".join(f"{'  '.join(map(_aligned, shown, each, wide)).rstrip()}\n" for each in texts)


def cells_by_name(row: RankRow) -> Mapping[str, str]:
    """Return a row's cells by the names of their columns."""
    return dict(zip(RANK_COLUMNS, texts_of(row), strict=True))


def top_values(name: str, namespace: str, head: GangHead, rows: Sequence[RankRow]) -> dict[str, object]:
    """Return all of it as JSON can hold it."""
    ranks = [{("pass" if key == "at_pass" else key): each for key, each in asdict(row).items()} for row in rows]
    return {"job": name, "namespace": namespace, **asdict(head), "ranks": ranks}


def _aligned(name: str, text: str, width: int) -> str:
    return text.rjust(width) if name in FIGURES else text.ljust(width)


def _told(value: int | None) -> str:
    return _UNSEEN if value is None else str(value)


def _figures(value: float) -> str:
    """Return a number with three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
