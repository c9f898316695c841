"""What `get` shows: the seeds' columns, and on a terminal how a job is and how old.

No I/O here. The cluster's texts are shown without characters that move a terminal's cursor.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from launcher.desk.jobs.job_state import KubePod
from launcher.text import visible

if TYPE_CHECKING:
    from launcher.desk.jobs.lookup import JobGang

NIL = "<nil>"
JOBS = ("NUM", "NAME", "SUCC", "FAIL", "START", "COMP", "ACTIVE")
WORKERS = ("NAME", "STATUS", "START")
WIDE_WORKERS = (*WORKERS, "ROLE", "RANK", "READY", "RESTARTS", "CODE", "IP", "NODE", "WHY")
REGISTRIES = ("NUM", "NAME", "SERVER", "USERNAME")
QUOTA = ("RESOURCE", "USED", "LIMIT")
_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}

Cells = tuple[object, ...]


def line(cells: Iterable[object]) -> str:
    """Return one row in columns divided by tabs, as the seeds have it and scripts read it."""
    return "\t".join(map(cell_of, cells)) + "\n"


def cell_of(cell: object) -> str:
    """Return what a cell looks like; nothing is <nil>, as in the seeds."""
    return NIL if cell is None or cell == "" else visible(cell)


def job_head(*, wide: bool, screen: bool) -> Cells:
    """Return the names of a job's columns; without a screen they are the seeds', or those and `wide`'s."""
    state = ("STATE", "AGE") if screen else ("STATE",) if wide else ()
    return (*JOBS, *state, *(("PSERVERS", "TRAINERS", "DATACENTER", "IMAGE") if wide else ()))


def job_row(number: int, gang: JobGang, *, wide: bool = False, now: datetime | None = None) -> Cells:
    """Return a job's row; `now` is given where a screen shows it."""
    lead, spec = gang.lead, gang.lead.spec
    completed = lead.ended if lead.end == "Complete" else None
    counts = (lead.succeeded or None, lead.failed or None)
    seeds = (number, gang.name, *counts, lead.started, completed, lead.active or None)
    state = (gang.state, age(lead.created, now)) if now else (gang.state,) if wide else ()
    more = (spec.get("pservers"), spec.get("trainers"), spec.get("datacenter"), lead.image) if wide else ()
    return (*seeds, *state, *more)


def worker(found: KubePod, *, wide: bool = False) -> Cells:
    """Return a pod's row."""
    cells: Cells = (found.name, found.status, found.started)
    if wide:
        rank = found.rank if found.rank >= 0 else None
        more = (found.role, rank, "yes" if found.ready else "no", found.restarts, found.code)
        cells = (*cells, *more, found.address, found.node, found.why)
    return cells


def age(since: str, now: datetime) -> str:
    """Return how long ago a moment of Kubernetes' was, by its largest unit."""
    try:
        seconds = max(0, int((now - datetime.fromisoformat(since)).total_seconds()))
    except (ValueError, TypeError):  # no moment, or one without a zone
        return ""
    unit = next((unit for unit, size in _UNITS.items() if seconds >= size), "s")
    return f"{seconds // _UNITS[unit]}{unit}"
