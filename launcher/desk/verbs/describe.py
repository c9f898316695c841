"""`paddlectl describe`: all that is known of a job on one page."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import Any

from launcher.contract import STATUS_PORT
from launcher.desk.arguments import flag
from launcher.desk.errors import Problem
from launcher.desk.jobs import answers, describe, lookup
from launcher.desk.jobs.job_state import KubePod
from launcher.desk.session import Desk

_Json = dict[str, Any]

EXAMPLES = """\
  paddlectl describe my-job
  paddlectl describe my-job -o json"""
_ASKED = 10  # pods; the others of a gang wait for the same
_SILENCE = 5.0  # seconds
_TAIL = 200  # lines of a log, in which the launcher's last sentence is looked for


def arguments(parser: ArgumentParser) -> None:
    """Add which job, and the format."""
    parser.add_argument("job")
    flag(parser, "o", "output", choices=("json", "yaml"), default="", help="as values")


def run(given: Namespace, desk: Desk) -> int:
    """Show the job, its gang, its pods and what happened to them."""
    gang = lookup.found(desk.api, given.job)
    pods = _explained(desk, lookup.gang_pods(desk.api, given.job))
    said = _gang(desk, pods)
    events = answers.job_events(lookup.gang_events(desk.api, gang, pods))
    if given.o:
        found = {
            "job": answers.job_status(gang, desk.api.namespace),
            "asked": describe.job_asked(gang),
            "gang": said,
            "workers": tuple(map(answers.job_worker, pods)),
            "events": events,
        }
        desk.terminal.out(answers.values_text(found, given.o))
        return 0
    desk.terminal.out(describe.job_page(gang, desk.api.namespace))
    desk.terminal.out(describe.gang_page(said))
    desk.terminal.out(describe.pods_page(pods))
    desk.terminal.out(describe.failures(pods))
    desk.terminal.out(describe.events(events))
    return 0


def _explained(desk: Desk, pods: tuple[KubePod, ...]) -> tuple[KubePod, ...]:
    """Return the pods; why one runs and is not ready is what its launcher said last."""
    mute = [pod for pod in pods if pod.phase == "Running" and pod.begun and not (pod.ready or pod.leaving or pod.why)]
    told: dict[str, str] = {}
    try:
        for pod in mute[:_ASKED]:
            query = {"container": pod.container, "tailLines": str(_TAIL)}
            told[pod.name] = describe.own_sentence(desk.api.log(pod.name, query, silence=_SILENCE))
    except Problem as problem:  # a node that is gone: the next one may be on it, too
        desk.terminal.detail(f"{pod.name}: {problem}")
    return tuple(replace(pod, why=told.get(pod.name, pod.why)) for pod in pods)


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
