"""`paddlectl get`: jobs, workers, registries and quotas, in the seeds' columns."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from launcher.desk import columns
from launcher.desk.arguments import WrongUsage, flag, job_name
from launcher.desk.errors import Mistyped, Problem, Refused
from launcher.desk.jobs import answers, job_state, lookup, registries, tables
from launcher.desk.jobs.tables import Cells
from launcher.desk.jobs.watch import changes
from launcher.desk.session import Desk
from launcher.kube import kinds
from launcher.text import visible

if TYPE_CHECKING:
    from launcher.desk.jobs.api_calls import Api

EXAMPLES = """\
  paddlectl get jobs
  paddlectl get jobs -w                 again, whenever something changes
  paddlectl get jobs -o wide            also state, numbers, image; -o json and -o yaml: the same as values
  paddlectl get jobs my-job other-job   only these; `get job my-job` is the same
  paddlectl get jobs -A -l team=vision  of all namespaces, and those with a label
  paddlectl get workers my-job
  paddlectl get registry
  paddlectl get quota"""


def arguments(parser: ArgumentParser) -> None:
    """Add the kind of resource and the format."""
    parser.add_argument("what", type=lambda text: _SPELLED.get(text, text), choices=tuple(ROWS))
    parser.add_argument("name", nargs="*", type=job_name, help="the job, for workers; any number, for jobs")
    flag(parser, "A", "all-namespaces", action="store_true", help="the jobs of all namespaces")
    flag(parser, "l", "selector", default="", metavar="LABEL=VALUE", help="only jobs or workers with these labels")
    flag(parser, "o", "output", choices=("json", "yaml", "wide"), default="", help="how it is shown")
    flag(parser, "w", "watch", action="store_true", help="again, whenever something changes (jobs and workers)")


def run(given: Namespace, desk: Desk) -> int:
    """Print resources."""
    if wrong := mismatch(given):
        raise WrongUsage(wrong)
    found = list[Any]()
    with _told(given):
        code = _find(given, desk, found) if given.name or not given.w else 0
        if given.w and not code:
            return _watch(given, desk)
    if given.o in ("json", "yaml"):
        desk.terminal.out(answers.values_text({"items": VALUES[given.what](found, desk)}, given.o))
    else:
        GrowingTable(desk, given).add(list(ROWS[given.what](found, given, desk)))
    return code


def mismatch(given: Namespace) -> str:
    """Return what does not go together, nothing where all does."""
    jobs, workers, named = given.what == "jobs", given.what == "workers", bool(given.name)
    if workers and len(given.name) != 1:
        return "expected one job: `get workers JOB`"
    if named and not (jobs or workers):
        return f"{given.what}: expected no name"
    if given.A and (named or not jobs):
        return "-A: expected `get jobs -A`, without a name: it lists the jobs of all namespaces"
    if given.l and not workers and (named or not jobs):
        return "-l: expected `get jobs` without a name, or `get workers JOB`"
    if given.w and (not (jobs or workers) or given.o in ("json", "yaml")):
        return "-w: expected jobs or workers, as a table"
    return ""


@contextmanager
def _told(given: Namespace) -> Iterator[None]:
    """Say which flag it was that the API server refuses."""
    try:
        yield
    except Refused as refused:
        if given.l and refused.status == 400:
            raise Mistyped(f"-l {visible(given.l)}: {refused.message}") from None
        if given.A and refused.status == 403:
            raise Problem(f"not allowed: {refused.message}; without -A it is one namespace") from None
        raise


def _find(given: Namespace, desk: Desk, found: list[Any]) -> int:
    """Find what is shown, and return the exit code: of several names one may be nowhere."""
    if given.what == "workers":
        lookup.found(desk.api, given.name[0])
        found += lookup.gang_pods(desk.api, given.name[0], given.l)
    elif given.name:
        return desk.each(given.name, lambda name: found.append(lookup.found(desk.api, name)))
    elif given.what == "jobs":
        api = _api(given, desk)
        found += lookup.picked(api, lookup.gangs(api), given.l)
    else:
        found += (_registries if given.what == "registry" else _quota)(desk)
    return 0


def _api(given: Namespace, desk: Desk) -> Api:
    return replace(desk.api, namespace="") if given.A else desk.api


def _head(given: Namespace, desk: Desk) -> Cells:
    match given.what:
        case "jobs":
            head = tables.job_head(wide=given.o == "wide", screen=desk.terminal.screen)
            return ("NAMESPACE", *head) if given.A else head
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
    rows = enumerate(gangs)
    return [
        ((gang.namespace,) if given.A else ()) + tables.job_row(number, gang, wide=given.o == "wide", now=now)
        for number, gang in rows
    ]


def _registries(desk: Desk) -> Iterator[Cells]:
    for number, each in enumerate(registries.registries_listed(desk.api)):
        yield (number, each.name, each.server, each.username)


def _quota(desk: Desk) -> Iterator[Cells]:
    for each in desk.api.listed("ResourceQuota"):
        status = each.get("status") or {}
        for resource, limit in sorted((status.get("hard") or {}).items()):
            yield (resource, (status.get("used") or {}).get(resource), limit)


def _named(head: Cells, rows: Sequence[Cells]) -> list[dict[str, object]]:
    return [dict(zip((str(name).lower() for name in head), row, strict=True)) for row in rows]


ROWS: dict[str, Callable[[Sequence[Any], Namespace, Desk], Sequence[Cells]]] = {
    "jobs": _gang_rows,
    "workers": lambda found, given, _: [tables.worker(pod, wide=given.o == "wide") for pod in found],
    "registry": lambda found, *_: found,
    "quota": lambda found, *_: found,
}
VALUES: dict[str, Callable[[Sequence[Any], Desk], Sequence[Any]]] = {
    "jobs": lambda found, desk: [answers.job_status(gang, gang.namespace or desk.api.namespace) for gang in found],
    "workers": lambda found, _: list(map(answers.job_worker, found)),
    "registry": lambda found, _: _named(tables.REGISTRIES, found),
    "quota": lambda found, _: _named(tables.QUOTA, found),
}
_SPELLED = {"job": "jobs", "worker": "workers", "registries": "registry", "quotas": "quota"}


def _watch(given: Namespace, desk: Desk) -> int:
    """Print the rows that have changed, until Ctrl-C."""
    workers = given.what == "workers"
    kind, selector = ("Pod", kinds.of_job(given.name[0], given.l)) if workers else ("Job", kinds.OURS)
    table, known, api = GrowingTable(desk, given), set[Cells](), _api(given, desk)
    for objects in changes(api, kind, selector, every=45, tell=desk.terminal.note):
        if workers:
            pods = job_state.in_order(map(job_state.kube_pod, objects))
            found = {row: row for row in (tables.worker(pod, wide=given.o == "wide") for pod in pods)}
        else:
            every = lookup.gangs_of(map(job_state.kube_job, objects))
            named = [gang for gang in every if gang.name in given.name or not given.name]
            gangs = lookup.picked(api, named, given.l)
            # A job that only grew older has not changed.
            wide = given.o == "wide" or desk.terminal.screen
            keys = [(gang.namespace, *tables.job_row(number, gang, wide=wide)) for number, gang in enumerate(gangs)]
            found = dict(zip(keys, _gang_rows(gangs, given, desk), strict=True))
        table.add([row for key, row in found.items() if key not in known])
        known = set(found)
    return 0
