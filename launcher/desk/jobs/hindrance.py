"""Why a job lacks pods: what Kubernetes says against making them, such as a full quota; other jobs; its queue.

Kubernetes places pods one by one: of two gangs that do not fit beside each other each may get a part, and wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launcher.desk.errors import Problem, Refused
from launcher.desk.jobs import job_state, lookup
from launcher.desk.jobs.job_state import KubePod
from launcher.desk.jobs.lookup import JobGang
from launcher.desk.jobs.watch import patiently

if TYPE_CHECKING:
    from launcher.desk.jobs.api_calls import Api

# Seconds. The Job controller tries again after 1, 2, 4 and 8: what still stands then does not pass by itself.
_PATIENCE = 10.0
_WANTS = "Insufficient "  # the scheduler's word for a resource of which no node has enough left
_OF_JOBS = "involvedObject.kind=Job,type=Warning"


def hindrance(api: Api, gang: JobGang, pods: tuple[KubePod, ...]) -> str:
    """Return what keeps the pods that a job lacks from being made, nothing where nothing is known."""
    short = tuple(each.name for each in gang.jobs if each.short)
    if not short:
        return ""
    try:
        return job_state.newest_warning(api.listed("Event", fields=_OF_JOBS), short, pods)
    except Refused as refused:
        if refused.status != 403:
            raise
        return ""  # a wait goes on without the right to read events


def blocking(api: Api, name: str, pods: tuple[KubePod, ...]) -> str:
    """Return which jobs and this one block each other, nothing where none does."""
    return blocked(name, lookup.pods_by_gang(api)) if half_placed(pods) else ""


def half_placed(pods: Sequence[KubePod]) -> bool:
    """Return whether some of a gang's pods run and wait for others, for which no node has room."""
    return bool(_waiting(pods)) and any(_homeless(pod) for pod in pods)


def blocked(name: str, gangs: Mapping[str, Sequence[KubePod]]) -> str:
    """Return the sentence about a gang and others that block each other, nothing where none does."""
    others = [other for other in sorted(gangs) if other != name and half_placed(gangs[other])]
    if not others or not half_placed(gangs.get(name, ())):
        return ""
    every = (name, *others)
    have = ", ".join(f"{len(_waiting(gangs[each]))} of {len(gangs[each])} pods of {each}" for each in every)
    return (
        f"the jobs {' and '.join(every)} block each other: {have} run and wait, and no node has room for the others; "
        f"`paddlectl kill {others[0]}` makes room, and with -queue Kueue (https://kueue.sigs.k8s.io) lets each job "
        "begin only as a whole"
    )


def _waiting(pods: Sequence[KubePod]) -> list[KubePod]:
    return [pod for pod in pods if pod.phase == "Running" and not (pod.ready or pod.leaving)]


def _homeless(pod: KubePod) -> bool:
    return pod.phase == "Pending" and not (pod.node or pod.leaving) and _WANTS in pod.why


def next_step(why: str, name: str) -> str:
    """Return what to do about pods that cannot be made."""
    if "exceeded quota" in why:
        return "`paddlectl get quota` shows what is used"
    return f"`paddlectl describe {name}` shows its events"


@dataclass(slots=True, kw_only=True)
class Hindered:
    """Tells once what holds a job, or keeps its pods from being made; where the latter stands, it is a Problem."""

    tell: Callable[[str], None]
    since: float | None = None
    held: str = ""
    queue: str = ""
    blocked: str = ""

    def look_at_queue(self, api: Api, gang: JobGang) -> None:
        """Look, once, whether there is the queue in which a job waits."""
        if gang.state == "Queued" and gang.lead.queue != self.queue:
            self.queue = gang.lead.queue
            if told := patiently(self.tell)(lookup.no_queue, api, self.queue):
                raise Problem(f"{gang.told()}, and nothing starts it: {told}")

    def look_at_others(self, api: Api, gang: JobGang, pods: tuple[KubePod, ...]) -> None:
        """Tell of other jobs, once, where each of them has what the other waits for."""
        told = patiently(self.tell)(blocking, api, gang.name, pods)
        if told not in ("", self.blocked):
            self.tell(told)
        self.blocked = told

    def look(self, api: Api, gang: JobGang, pods: tuple[KubePod, ...]) -> None:
        """Look again."""
        if gang.held not in ("", self.held):
            self.tell(f"{gang.told()}: {gang.held}")
        self.held = gang.held
        why = patiently(self.tell)(hindrance, api, gang, pods)
        if not why:
            self.since = None
            return
        told, now = f"job {gang.name} cannot have all its pods: {why}", time.monotonic()
        if self.since is None:
            self.since = now
            self.tell(told)
        elif now - self.since >= _PATIENCE:
            raise Problem(f"{told}; {next_step(why, gang.name)}")
