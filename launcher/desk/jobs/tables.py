"""What `get` shows: the seeds' columns, divided by tabs.

No I/O here. The cluster's texts are shown without characters that move a terminal's cursor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from launcher.desk.jobs.job_state import KubeJob, KubePod
from launcher.text import visible

NIL = "<nil>"
JOBS = ("NUM", "NAME", "SUCC", "FAIL", "START", "COMP", "ACTIVE")
WIDE_JOBS = (*JOBS, "STATE", "PSERVERS", "TRAINERS", "DATACENTER", "IMAGE")
WORKERS = ("NAME", "STATUS", "START")
WIDE_WORKERS = (*WORKERS, "ROLE", "RANK", "READY", "RESTARTS", "CODE", "IP", "NODE", "WHY")
REGISTRIES = ("NUM", "NAME", "SERVER", "USERNAME")
QUOTA = ("RESOURCE", "USED", "LIMIT")


def line(cells: Iterable[object]) -> str:
    """Return one row."""
    return "\t".join(map(cell_of, cells)) + "\n"


def cell_of(cell: object) -> str:
    """Return what a cell looks like; nothing is <nil>, as in the seeds."""
    return NIL if cell is None or cell == "" else visible(cell)


def job_row(number: int, found: KubeJob, *, wide: bool = False) -> str:
    """Return a job's row."""
    completed = found.ended if found.end == "Complete" else None
    counts = (found.succeeded or None, found.failed or None)
    cells: Sequence[object] = (number, found.gang, *counts, found.started, completed, found.active or None)
    if wide:
        spec = found.spec
        cells = (*cells, found.state, spec.get("pservers"), spec.get("trainers"), spec.get("datacenter"), found.image)
    return line(cells)


def worker(found: KubePod, *, wide: bool = False) -> str:
    """Return a pod's row."""
    status = "Terminating" if found.leaving else found.phase
    cells: Sequence[object] = (found.name, status, found.started)
    if wide:
        rank = found.rank if found.rank >= 0 else None
        more = (found.role, rank, "yes" if found.ready else "no", found.restarts, found.code)
        cells = (*cells, *more, found.address, found.node, found.why)
    return line(cells)
