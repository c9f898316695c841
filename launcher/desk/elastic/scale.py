"""Gives an elastic job another number of pods: parallelism and completions in one patch, as Kubernetes wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from launcher.desk.errors import Problem, Refused
from launcher.desk.jobs import lookup
from launcher.job.problem import Parameter

if TYPE_CHECKING:
    from launcher.desk.jobs.api_calls import Api
    from launcher.desk.jobs.lookup import JobGang
    from launcher.desk.session import Desk

SUSPEND = Parameter("suspend", value=True)
_TRIES = 20  # of a suspended moment, which a queue ends as soon as it sees it


def scale(name: str, desk: Desk, *, pods: int, suspend: bool = False) -> str:
    """Give a job so many pods, and return what was done."""
    gang = lookup.found(desk.api, name)
    check_scale(gang, pods, suspend=suspend)
    lead = gang.lead
    if lead.wanted == pods:
        return f"job {name} has {pods} pods already"
    change = {"spec": {"parallelism": pods, "completions": pods}}
    if suspend and not lead.suspended:
        _between(desk.api, lead.name, change)
        return f"job {name} is suspended; the queue {lead.queue} starts it again with {pods} pods"
    desk.api.patch("Job", lead.name, change)
    if lead.suspended:
        return f"job {name} has {pods} pods when it goes on, {lead.wanted} before; {gang.held}"
    return f"job {name} goes from {lead.wanted} to {pods} pods; `paddlectl describe {name}` shows who takes part"


def check_scale(gang: JobGang, pods: int, *, suspend: bool) -> None:
    """Refuse, in a sentence, what a job cannot be, or not now."""
    name, lead, width = gang.name, gang.lead, gang.lead.width
    if gang.over or gang.state == "Terminating":
        raise Problem(f"{gang.told()}: only a job that goes on can be scaled")
    if width is None or width.fixed:
        raise Problem(
            f"job {name} has a fixed number of pods, {lead.wanted}: submit it again with ",
            Parameter("members", given=False), " MIN:MAX and ", Parameter("replace", value=True),
        )  # fmt: skip
    if pods == 0:
        raise Problem(f"job {name} cannot have 0 pods: `paddlectl suspend {name}` ends all until it is resumed")
    if not width.least <= pods <= width.pods:
        raise Problem(f"job {name} cannot have {pods} pods: expected {width.least} to {width.pods} ({width})")
    if suspend and not lead.queue:
        raise Problem(
            f"job {name} is in no queue, and changes its number of pods while it runs: leave ",
            Parameter("suspend", given=False), " out",
        )  # fmt: skip
    if lead.queue and not (suspend or lead.suspended):
        raise Problem(
            f"job {name} is in the queue {lead.queue}, and Kueue refuses another number of pods while it runs: with ",
            SUSPEND, " its pods end first, and the queue starts it again",
        )  # fmt: skip


def _between(api: Api, job: str, change: dict[str, Any]) -> None:
    """Change a Job while it is suspended: its queue, which has room for it as it was, resumes it at once."""
    for _ in range(_TRIES):
        api.patch("Job", job, {"spec": {"suspend": True}})
        try:
            api.patch("Job", job, change)
            return
        except Refused as refused:
            if refused.status not in (403, 422) or "suspended" not in refused.message:
                raise
    raise Problem(f"the queue resumed the Job {job} each of {_TRIES} times before it was changed: try it again")
