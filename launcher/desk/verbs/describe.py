"""`paddlectl describe`: all that is known of a job on one page."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from launcher.contract import STATUS_PORT
from launcher.desk.errors import Problem
from launcher.desk.jobs import describe, lookup
from launcher.desk.jobs.job_state import KubePod
from launcher.desk.jobs.lookup import JobGang
from launcher.desk.session import Desk

_Json = dict[str, Any]

EXAMPLES = "  paddlectl describe my-job"


def arguments(parser: ArgumentParser) -> None:
    """Add which job."""
    parser.add_argument("job")


def run(given: Namespace, desk: Desk) -> int:
    """Show the job, its gang, its pods and what happened to them."""
    gang = lookup.found(desk.api, given.job)
    pods = lookup.gang_pods(desk.api, given.job)
    desk.terminal.out(describe.job_page(gang, desk.api.namespace))
    desk.terminal.out(describe.gang_page(_gang(desk, pods)))
    desk.terminal.out(describe.pods_page(pods))
    desk.terminal.out(describe.failures(pods))
    desk.terminal.out(describe.events(_events(desk, gang, pods)))
    return 0


def _gang(desk: Desk, pods: tuple[KubePod, ...]) -> _Json:
    """Return what the gang's leader says, where the API server can ask it: a NetworkPolicy may keep it out."""
    firsts = [pod for pod in pods if pod.phase == "Running" and pod.begun and pod.rank == 0]
    for pod in sorted(firsts, key=lambda each: each.role):
        try:
            found = json.loads(desk.api.proxied(pod.name, STATUS_PORT, "gang", seconds=3))
        except (Problem, ValueError, RecursionError) as error:
            desk.terminal.detail(f"{pod.name}: {error}")
            continue
        if isinstance(found, dict):
            return found
    return {}


def _events(desk: Desk, gang: JobGang, pods: tuple[KubePod, ...]) -> Iterator[_Json]:
    """Yield the events of the job's objects; those of pods that are gone by the beginning of their names."""
    names = {job.name for job in gang.jobs} | {pod.name for pod in pods}
    begins = tuple(f"{each.name}-" for each in gang.jobs)
    for event in desk.api.listed("Event"):
        about = str((event.get("involvedObject") or {}).get("name", ""))
        if about in names or about.startswith(begins):
            yield event
