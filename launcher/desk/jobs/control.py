"""What the verbs of `launcher.job` do at the desk: they return values, and print nothing but warnings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from launcher.contract import KILLED_ANNOTATION
from launcher.desk.elastic.scale import scale
from launcher.desk.errors import Problem
from launcher.desk.jobs import answers, lookup, submit
from launcher.desk.jobs.logs import logs
from launcher.desk.jobs.wait import wait
from launcher.desk.session import Desk, DeskFlags
from launcher.desk.terminal import Terminal

if TYPE_CHECKING:
    from launcher.job.description import Job
    from launcher.job.paddlejob import JobByName
    from launcher.job.values import JobEvent, JobStatus, JobWorker

_Json = dict[str, Any]

_SUSPENDED: _Json = {"spec": {"suspend": True}}
_KILLED: _Json = {**_SUSPENDED, "metadata": {"annotations": {KILLED_ANNOTATION: "true"}}}
_UNMARKED: _Json = {"metadata": {"annotations": {KILLED_ANNOTATION: None}}}


def for_python(verb: str, who: JobByName, options: Mapping[str, Any], heed: Callable[[Any], object]) -> Any:  # noqa: ANN401  # each verb's own
    """Do a verb for a Python program; `heed` gets what comes before the result."""
    flags = DeskFlags(namespace=who.namespace, datacenter=who.datacenter)
    desk = Desk(flags, terminal=Terminal(quiet=True))
    if verb == "jobs":
        return statuses(desk)
    if verb in WITH_JOB:
        return WITH_JOB[verb](who, desk, **options)
    if verb == "wait":
        return wait(who.job_name, desk, heed=heed, **options)
    return BY_NAME[verb](who.job_name, desk, **options)


def statuses(desk: Desk) -> tuple[JobStatus, ...]:
    """Return how all jobs are, in the order in which the API lists them."""
    return tuple(answers.job_status(gang, desk.api.namespace) for gang in lookup.gangs(desk.api))


def status(name: str, desk: Desk) -> JobStatus:
    """Return how a job is."""
    return answers.job_status(lookup.found(desk.api, name), desk.api.namespace)


def workers(name: str, desk: Desk) -> tuple[JobWorker, ...]:
    """Return how a job's pods are."""
    lookup.found(desk.api, name)
    return tuple(map(answers.job_worker, lookup.gang_pods(desk.api, name)))


def noted(name: str, desk: Desk) -> tuple[JobEvent, ...]:
    """Return what the cluster noted about a job."""
    gang = lookup.found(desk.api, name)
    return answers.job_events(lookup.gang_events(desk.api, gang, lookup.gang_pods(desk.api, name)))


def create_job(job: Job, desk: Desk, *, replace: bool = False) -> JobStatus:
    """Create a job, and return how it is."""
    submit.submit(job, desk, replace=replace)
    return status(job.job_name, desk)


def kill(name: str, desk: Desk, *, remove: bool = False) -> str:
    """End a job's pods and keep what there is to read of it; with `remove`, leave nothing. Return what was done."""
    if remove and submit.remove(desk.api, name):
        return f"job {name} is removed; its files on a volume stay"
    gang = lookup.found(desk.api, name)
    # One of its Jobs may still run: the other one failed, or an earlier kill broke off between the two.
    going_on = [each for each in gang.jobs if not each.end and not (each.suspended and each.killed)]
    if not going_on:
        return f"{gang.told()} already; `paddlectl kill -rm {name}` removes it from the list"
    for each in going_on:
        desk.api.patch("Job", each.name, _KILLED)
    if gang.lead.queue:
        return f"job {name} is killed; {gang.lead.queue} may start it again, `paddlectl kill -rm {name}` removes it"
    return f"job {name} is being stopped; `paddlectl get workers {name}` shows the pods that still run"


def suspend(name: str, desk: Desk) -> str:
    """End a job's pods until it is resumed, and return what was done."""
    gang = lookup.found(desk.api, name)
    if gang.over or gang.state == "Terminating":
        raise Problem(f"{gang.told()}: only a job that goes on can be suspended")
    going_on = [each for each in gang.jobs if not each.end and not each.suspended]
    if not going_on:
        return f"{gang.told()} already"
    for each in going_on:
        desk.api.patch("Job", each.name, _SUSPENDED)
    return f"job {name} is being suspended; `paddlectl resume {name}` lets it go on"


def resume(name: str, desk: Desk) -> str:
    """Let a job go on that was suspended or killed, and return what was done; what a queue holds, that starts."""
    gang = lookup.found(desk.api, name)
    if gang.state in ("Complete", "Failed", "Terminating"):
        raise Problem(f"{gang.told()}: it cannot go on; `paddlectl submit --replace` starts it anew")
    held = [each for each in gang.jobs if each.suspended and not each.end]
    if not held:
        return f"{gang.told()} already"
    if gang.state == "Queued" and gang.lead.queue:
        return f"{gang.told()}: {gang.held}"
    for each in held:
        desk.api.patch("Job", each.name, {**_UNMARKED, "spec": {"suspend": bool(each.queue)}})
    marked = ", and its mark as killed is taken off" if any(each.killed for each in held) else ""
    where = f"waits in the queue {gang.lead.queue}" if gang.lead.queue else "goes on"
    return f"job {name} {where}{marked}; `paddlectl logs -f {name}` shows what it writes"


WITH_JOB: Mapping[str, Callable[..., object]] = {"submit": create_job, "dry_run": submit.dry_run}
BY_NAME: Mapping[str, Callable[..., object]] = {
    "status": status,
    "workers": workers,
    "events": noted,
    "logs": lambda *which, **options: logs(*which, **options).lines,
    "kill": kill,
    "suspend": suspend,
    "resume": resume,
    "scale": scale,
}
