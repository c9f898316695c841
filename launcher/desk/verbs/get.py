"""`paddlectl get`: jobs, workers, registries and quotas, in the seeds' columns."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from launcher.desk import columns
from launcher.desk.arguments import WrongUsage, flag
from launcher.desk.jobs import answers, control, job_state, lookup, registries, tables
from launcher.desk.jobs.tables import Cells
from launcher.desk.jobs.watch import changes
from launcher.desk.session import Desk
from launcher.kube import kinds

EXAMPLES = """\
  paddlectl get jobs
  paddlectl get jobs -w                 again, whenever something changes
  paddlectl get jobs -o wide            also state, numbers, image; -o json and -o yaml: the same as values
  paddlectl get workers my-job
  paddlectl get registry
  paddlectl get quota"""


def arguments(parser: ArgumentParser) -> None:
    """Add the kind of resource and the format."""
    parser.add_argument("what", choices=("jobs", "workers", "registry", "quota"))
    parser.add_argument("name", nargs="?", default="", help="the job, for workers")
    flag(parser, "o", "output", choices=("json", "yaml", "wide"), default="", help="how it is shown")
    flag(parser, "w", "watch", action="store_true", help="again, whenever something changes (jobs and workers)")


def run(given: Namespace, desk: Desk) -> int:
    """Print resources."""
    if (given.what == "workers") != bool(given.name):
        raise WrongUsage(
            "paddlectl get: expected `get workers JOB`, or `get jobs`, `get registry`, `get quota` without a name"
        )
    if given.w and (given.what in ("registry", "quota") or given.o in ("json", "yaml")):
        raise WrongUsage("paddlectl get: -w works only for jobs and workers, as tables")
    if given.o in ("json", "yaml"):
        desk.terminal.out(answers.values_text({"items": VALUES[given.what](given, desk)}, given.o))
        return 0
    if given.what == "workers":
        lookup.found(desk.api, given.name)
    if given.w:
        return _watch(given, desk)
    GrowingTable(desk, given).add(list(ROWS[given.what](given, desk)))
    return 0


def _head(given: Namespace, desk: Desk) -> Cells:
    match given.what:
        case "jobs":
            return tables.job_head(wide=given.o == "wide", screen=desk.terminal.screen)
        case "workers":
            return tables.WIDE_WORKERS if given.o == "wide" else tables.WORKERS
        case "registry":
            return tables.REGISTRIES
    return tables.QUOTA


class GrowingTable:
    """A table that grows: on a terminal in columns that fit, its head again where they grew; else divided by tabs."""

    def __init__(self, desk: Desk, given: Namespace) -> None:
        self._terminal = desk.terminal
        self._head = [tables.cell_of(cell) for cell in _head(given, desk)]
        self._widths: tuple[int, ...] = ()

    def add(self, rows: Sequence[Cells]) -> None:
        """Write rows, at first below the head."""
        texts = [[tables.cell_of(cell) for cell in row] for row in rows]
        screen = self._terminal.screen
        wide = columns.widths([self._head, *texts], self._widths) if screen else (0,) * len(self._head)
        shown = texts if wide == self._widths else [self._head, *texts]
        self._widths = wide
        if screen and shown:
            self._terminal.out(columns.table(shown, least=wide) + "\n")
        elif shown:
            self._terminal.out("".join(map(tables.line, shown)))


def _gang_rows(gangs: Sequence[lookup.JobGang], given: Namespace, desk: Desk) -> list[Cells]:
    now = datetime.now(UTC) if desk.terminal.screen else None
    return [tables.job_row(number, gang, wide=given.o == "wide", now=now) for number, gang in enumerate(gangs)]


def _jobs(given: Namespace, desk: Desk) -> list[Cells]:
    return _gang_rows(lookup.gangs(desk.api), given, desk)


def _workers(given: Namespace, desk: Desk) -> Iterator[Cells]:
    return (tables.worker(pod, wide=given.o == "wide") for pod in lookup.gang_pods(desk.api, given.name))


def _registries(given: Namespace, desk: Desk) -> Iterator[Cells]:  # noqa: ARG001  # as its neighbours
    for number, each in enumerate(registries.registries_listed(desk.api)):
        yield (number, each.name, each.server, each.username)


def _quota(given: Namespace, desk: Desk) -> Iterator[Cells]:  # noqa: ARG001  # as its neighbours
    for each in desk.api.listed("ResourceQuota"):
        status = each.get("status") or {}
        for resource, limit in sorted((status.get("hard") or {}).items()):
            yield (resource, (status.get("used") or {}).get(resource), limit)


ROWS: dict[str, Callable[[Namespace, Desk], Iterator[Cells] | list[Cells]]] = {
    "jobs": _jobs, "workers": _workers, "registry": _registries, "quota": _quota,
}  # fmt: skip


def _named(head: Cells, rows: Iterator[Cells]) -> list[dict[str, object]]:
    return [dict(zip((str(name).lower() for name in head), row, strict=True)) for row in rows]


VALUES: dict[str, Callable[[Namespace, Desk], Sequence[Any]]] = {
    "jobs": lambda given, desk: control.statuses(desk),
    "workers": lambda given, desk: control.workers(given.name, desk),
    "registry": lambda given, desk: _named(tables.REGISTRIES, _registries(given, desk)),
    "quota": lambda given, desk: _named(tables.QUOTA, _quota(given, desk)),
}


def _watch(given: Namespace, desk: Desk) -> int:
    """Print the rows that have changed, until Ctrl-C."""
    workers = given.what == "workers"
    kind, selector = ("Pod", kinds.of_job(given.name)) if workers else ("Job", kinds.OURS)
    table, known = GrowingTable(desk, given), set[Cells]()
    for objects in changes(desk.api, kind, selector, every=45, tell=desk.terminal.note):
        if workers:
            pods = job_state.in_order(map(job_state.kube_pod, objects))
            found = {row: row for row in (tables.worker(pod, wide=given.o == "wide") for pod in pods)}
        else:
            gangs = lookup.gangs_of(map(job_state.kube_job, objects))
            # A job that only grew older has not changed.
            wide = given.o == "wide" or desk.terminal.screen
            keys = [tables.job_row(number, gang, wide=wide) for number, gang in enumerate(gangs)]
            found = dict(zip(keys, _gang_rows(gangs, given, desk), strict=True))
        table.add([row for key, row in found.items() if key not in known])
        known = set(found)
    return 0
