"""Waits for a job's state, and says why it will never come."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from launcher.desk.errors import Problem
from launcher.desk.jobs import hindrance, job_state, lookup
from launcher.desk.jobs.answers import job_status
from launcher.desk.jobs.hindrance import Hindered
from launcher.desk.jobs.job_state import KubePod
from launcher.desk.jobs.lookup import JobGang
from launcher.desk.jobs.watch import changes, patiently
from launcher.desk.session import Desk
from launcher.job.problem import Parameter
from launcher.job.values import JobStatus
from launcher.kube import kinds

_Json = dict[str, Any]

UNTIL = ("complete", "failed", "running")


def wait(
    name: str, desk: Desk, *, until: str = "complete", timeout: float | None = None,
    heed: Callable[[JobStatus], object] = lambda _: None,
) -> str:  # fmt: skip
    """Return a job's state once it is as expected; a Problem tells why it never will be."""
    if until not in UNTIL:
        raise Problem(f"wait for {until!r}: expected one of {', '.join(UNTIL)}")
    lookup.found(desk.api, name)
    begun, told, hindered = time.monotonic(), "", Hindered(tell=desk.terminal.note)
    every = 5 if timeout is None else max(1, min(5, int(timeout)))
    for objects in changes(desk.api, "Job", kinds.of_job(name), every=every, tell=desk.terminal.note):
        gang = lookup.gang_of(tuple(map(job_state.kube_job, objects)))
        if gang is None:
            raise Problem(f"job {name} was removed during the wait")
        if gang.told() != told:
            told = gang.told()
            desk.terminal.note(f"{told}: {gang.held}" if gang.held else told)
            heed(job_status(gang, desk.api.namespace))
        if reached(gang, until):
            return gang.state
        look(desk, gang, until, hindered)
        if timeout is not None and time.monotonic() - begun >= timeout:
            raise Problem(f"after {timeout:g} s {told}: expected {until}; `paddlectl describe {name}` shows more")
    raise AssertionError("the changes have no end")


def reached(gang: JobGang, until: str) -> bool:
    """Return whether a job is as expected; one that is complete has been running."""
    return gang.state.lower() == until or (until == "running" and gang.state == "Complete")


def look(desk: Desk, gang: JobGang, until: str, hindered: Hindered) -> None:
    """Say what makes the wait vain: an end of another kind, a pod that cannot start, or that cannot be made."""
    if gang.over:
        why = lookup.first_failure(_pods(desk, gang)) or gang.lead.why
        raise Problem(
            f"{gang.told()}" + (f": {why}" if why and gang.state == "Failed" else f": it will not be {until}")
        )
    hindered.look_at_queue(desk.api, gang)
    if gang.state != "Starting":
        return
    pods = _pods(desk, gang)
    for pod in pods:
        if pod.stuck:
            raise Problem(f"{pod.name} cannot start: {pod.why}; ", *remedy(pod, gang))
    hindered.look_at_others(desk.api, gang, pods)
    hindered.look(desk.api, gang, pods)


def _pods(desk: Desk, gang: JobGang) -> tuple[KubePod, ...]:
    return patiently(desk.terminal.note)(lookup.gang_pods, desk.api, gang.name)


def remedy(pod: KubePod, gang: JobGang) -> tuple[str | Parameter, ...]:
    """Return what to do about a pod that cannot start."""
    again: tuple[str | Parameter, ...] = ("then submit again with ", Parameter("replace", value=True))
    if pod.trouble:
        return again
    if "image" not in pod.why:
        return (hindrance.next_step(pod.why, gang.name),)
    brought = pod.image == gang.lead.spec.get("launcher")
    by = (" (it is set by ", Parameter("launcher_image", given=False), ")") if brought else ()
    return (
        f"is {pod.image} its name",
        *by,
        "? A private registry needs `paddlectl registry` and, when it is submitted, ",
        Parameter("registry", given=False),
        "; ",
        *again,
    )
