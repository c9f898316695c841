"""`paddlectl describe`: all that is known of a job on one page."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from launcher.desk.arguments import flag, of_jobs
from launcher.desk.errors import Problem
from launcher.desk.jobs import answers, describe, hindrance, lookup
from launcher.desk.jobs.job_state import KubePod
from launcher.desk.live import asking
from launcher.desk.session import Desk
from launcher.job.values import JobEvent

_Json = dict[str, Any]

EXAMPLES = """\
  paddlectl describe my-job
  paddlectl describe my-job -o json
  paddlectl describe job my-job other-job      as kubectl has it"""
_ASKED = 10  # pods; the others of a gang wait for the same
_SILENCE = 5.0  # seconds
_TAIL = 200  # lines of a log, in which the launcher's last sentence is looked for


def arguments(parser: ArgumentParser) -> None:
    """Add which jobs, and the format."""
    of_jobs(parser)
    flag(parser, "o", "output", choices=("json", "yaml"), default="", help="as values")


def run(given: Namespace, desk: Desk) -> int:
    """Show each job, its gang, its pods and what happened to them."""
    names = names_in(given.job)
    if not given.o:
        return desk.each(names, lambda name: _show(desk, name, between="" if name == names[0] else "\n"))
    found: list[_Json] = []
    code = desk.each(names, lambda name: found.append(_values(desk, name)))
    desk.terminal.out(answers.values_text(found[0] if len(names) == 1 else {"items": found}, given.o))
    return code


def names_in(words: Sequence[str]) -> tuple[str, ...]:
    """Return the names of jobs in what was typed: kubectl's `job` before names is none."""
    return tuple(words[1:] if len(words) > 1 and words[0] in ("job", "jobs") else words)


def _known(desk: Desk, name: str) -> tuple[lookup.JobGang, tuple[KubePod, ...], _Json, tuple[JobEvent, ...]]:
    gang = lookup.found(desk.api, name)
    pods = _explained(desk, lookup.gang_pods(desk.api, name))
    said = asking.leader_told(asking.through_the_api(desk.api), pods, desk.terminal.detail)
    return gang, pods, said, answers.job_events(lookup.gang_events(desk.api, gang, pods))


def _values(desk: Desk, name: str) -> _Json:
    gang, pods, said, events = _known(desk, name)
    return {
        "job": answers.job_status(gang, desk.api.namespace),
        "asked": describe.job_asked(gang),
        "gang": said,
        "workers": tuple(map(answers.job_worker, pods)),
        "events": events,
    }


def _show(desk: Desk, name: str, *, between: str) -> None:
    gang, pods, said, events = _known(desk, name)
    desk.terminal.out(between)
    desk.terminal.out(describe.job_page(gang, desk.api.namespace))
    desk.terminal.out(describe.gang_page(said, gang.lead.width, pods))
    desk.terminal.out(describe.pods_page(pods))
    desk.terminal.out(describe.hindered(describe.unsafe_width(gang)))
    desk.terminal.out(describe.hindered(_hindrance(desk, gang, pods)))
    desk.terminal.out(describe.failures(pods))
    desk.terminal.out(describe.events(events))


def _hindrance(desk: Desk, gang: lookup.JobGang, pods: tuple[KubePod, ...]) -> str:
    """Return what of other jobs, or of its queue, keeps a job from beginning."""
    if gang.state == "Queued":
        return lookup.no_queue(desk.api, gang.lead.queue)
    return hindrance.blocking(desk.api, gang.name, pods)


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
