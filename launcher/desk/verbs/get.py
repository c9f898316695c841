"""`paddlectl get`: jobs, workers, registries and quotas, in the seeds' columns."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from typing import Any

from launcher.contract import SPEC_ANNOTATION
from launcher.desk.arguments import WrongUsage, flag
from launcher.desk.jobs import job_state, lookup, registries, tables
from launcher.desk.jobs.watch import changes
from launcher.desk.session import Desk
from launcher.kube import kinds

_Json = dict[str, Any]

# By what is listed, and whether it is wide.
HEADS = {
    ("jobs", False): tables.JOBS,
    ("jobs", True): tables.WIDE_JOBS,
    ("workers", False): tables.WORKERS,
    ("workers", True): tables.WIDE_WORKERS,
    ("registry", False): tables.REGISTRIES,
    ("registry", True): tables.REGISTRIES,
    ("quota", False): tables.QUOTA,
    ("quota", True): tables.QUOTA,
}
EXAMPLES = """\
  paddlectl get jobs
  paddlectl get jobs -w                 again, whenever something changes
  paddlectl get jobs -o wide            also state, numbers, image; -o json and -o yaml: as the API has them
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
    if given.what == "workers":
        lookup.found(desk.api, given.name)
    if given.o in ("json", "yaml"):
        return _whole(given, desk)
    if given.w:
        return _watch(given, desk)
    rows = {"jobs": _jobs, "workers": _workers, "registry": _registries, "quota": _quota}[given.what]
    before = tables.line(HEADS[given.what, bool(given.o)])
    for row in rows(given, desk):  # the first of them proves that there is an answer
        desk.terminal.out(before + row)
        before = ""
    desk.terminal.out(before)
    return 0


def leads(found: Iterator[_Json]) -> Iterator[_Json]:
    """Yield the Jobs that stand for a whole job."""
    return (each for each in found if SPEC_ANNOTATION in (each["metadata"].get("annotations") or {}))


def _jobs(given: Namespace, desk: Desk) -> Iterator[str]:
    for number, found in enumerate(leads(desk.api.listed("Job", kinds.OURS))):
        yield tables.job_row(number, job_state.kube_job(found), wide=bool(given.o))


def _workers(given: Namespace, desk: Desk) -> Iterator[str]:
    for pod in lookup.gang_pods(desk.api, given.name):
        yield tables.worker(pod, wide=bool(given.o))


def _registries(given: Namespace, desk: Desk) -> Iterator[str]:  # noqa: ARG001  # as its neighbours
    for number, each in enumerate(registries.registries_listed(desk.api)):
        yield tables.line((number, each.name, each.server, each.username))


def _quota(given: Namespace, desk: Desk) -> Iterator[str]:  # noqa: ARG001  # as its neighbours
    for each in desk.api.listed("ResourceQuota"):
        status = each.get("status") or {}
        for resource, limit in sorted((status.get("hard") or {}).items()):
            yield tables.line((resource, (status.get("used") or {}).get(resource), limit))


def _whole(given: Namespace, desk: Desk) -> int:
    """Print what the API has."""
    selector = kinds.of_job(given.name) if given.what == "workers" else kinds.OURS
    ways: dict[str, Callable[[], Iterator[_Json]]] = {
        "jobs": lambda: leads(desk.api.listed("Job", selector)),
        "workers": lambda: desk.api.listed("Pod", selector),
        "registry": lambda: _names_of_registries(desk),
        "quota": lambda: desk.api.listed("ResourceQuota"),
    }
    found = ways[given.what]()
    whole = {"apiVersion": "v1", "kind": "List", "items": list(found)}
    if given.o == "json":
        desk.terminal.out(json.dumps(whole, indent=2) + "\n")
    else:
        from launcher.job.text import yaml

        desk.terminal.out(yaml([whole]))
    return 0


def _names_of_registries(desk: Desk) -> Iterator[_Json]:
    for each in registries.registries_listed(desk.api):
        yield {"name": each.name, "server": each.server, "username": each.username}


def _watch(given: Namespace, desk: Desk) -> int:
    """Print the rows that have changed, until Ctrl-C."""
    workers = given.what == "workers"
    kind, selector = ("Pod", kinds.of_job(given.name)) if workers else ("Job", kinds.OURS)
    wide = given.o == "wide"
    desk.terminal.out(tables.line(HEADS[given.what, wide]))
    shown: set[str] = set()
    for objects in changes(desk.api, kind, selector, every=45, tell=desk.terminal.note):
        if workers:
            rows = [tables.worker(pod, wide=wide) for pod in job_state.in_order(map(job_state.kube_pod, objects))]
        else:
            rows = [
                tables.job_row(at, job_state.kube_job(each), wide=wide)
                for at, each in enumerate(leads(iter(objects)))
            ]
        for row in rows:
            if row not in shown:
                desk.terminal.out(row)
        shown = set(rows)
    return 0
