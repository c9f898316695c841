"""What PaddleJob's verbs do at the desk: how a job is, its end, and where the others are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from launcher.contract import KILLED_ANNOTATION
from launcher.desk.errors import Problem
from launcher.desk.jobs import lookup, submit
from launcher.desk.jobs.logs import logs
from launcher.desk.jobs.wait import wait
from launcher.desk.session import Desk, DeskFlags

_Json = dict[str, Any]

_SUSPENDED: _Json = {"spec": {"suspend": True}}
_KILLED: _Json = {**_SUSPENDED, "metadata": {"annotations": {KILLED_ANNOTATION: "true"}}}
_UNMARKED: _Json = {"metadata": {"annotations": {KILLED_ANNOTATION: None}}}


def status(name: str, desk: Desk | None = None, *, namespace: str = "") -> _Json:
    """Return how a job is."""
    desk = desk or Desk(DeskFlags(namespace=namespace))
    gang = lookup.found(desk.api, name)
    lead = gang.lead
    return {
        "name": gang.name,
        "namespace": desk.api.namespace,
        "state": gang.state,
        "started": lead.started,
        "ended": lead.ended,
        "active": lead.active,
        "succeeded": lead.succeeded,
        "failed": lead.failed,
        "why": next((each.why for each in gang.jobs if each.end == "Failed"), ""),
    }


def kill(name: str, desk: Desk | None = None, *, remove: bool = False, namespace: str = "") -> str:
    """End a job's pods and keep what there is to read of it; with `remove`, leave nothing. Return what was done."""
    desk = desk or Desk(DeskFlags(namespace=namespace))
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


def suspend(name: str, desk: Desk | None = None, *, namespace: str = "") -> str:
    """End a job's pods until it is resumed, and return what was done."""
    desk = desk or Desk(DeskFlags(namespace=namespace))
    gang = lookup.found(desk.api, name)
    if gang.over or gang.state == "Terminating":
        raise Problem(f"{gang.told()}: only a job that goes on can be suspended")
    going_on = [each for each in gang.jobs if not each.end and not each.suspended]
    if not going_on:
        return f"{gang.told()} already"
    for each in going_on:
        desk.api.patch("Job", each.name, _SUSPENDED)
    return f"job {name} is being suspended; `paddlectl resume {name}` lets it go on"


def resume(name: str, desk: Desk | None = None, *, namespace: str = "") -> str:
    """Let a job go on that was suspended or killed, and return what was done; what a queue holds, that starts."""
    desk = desk or Desk(DeskFlags(namespace=namespace))
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


# What each of PaddleJob's verbs calls: these with the job itself, the others with its name and namespace.
WITH_JOB: Mapping[str, Callable[..., object]] = {"submit": submit.submit, "dry_run": submit.dry_run}
BY_NAME: Mapping[str, Callable[..., object]] = {
    "status": status,
    "logs": logs,
    "wait": wait,
    "kill": kill,
    "suspend": suspend,
    "resume": resume,
}
