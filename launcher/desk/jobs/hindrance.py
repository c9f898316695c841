"""Why a job lacks pods: what Kubernetes says against making them, such as a quota that is full."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launcher.desk.errors import Problem, Refused
from launcher.desk.jobs import job_state
from launcher.desk.jobs.job_state import KubePod
from launcher.desk.jobs.lookup import JobGang
from launcher.desk.jobs.watch import patiently

if TYPE_CHECKING:
    from launcher.desk.jobs.api_calls import Api

# Seconds. The Job controller tries again after 1, 2, 4 and 8: what still stands then does not pass by itself.
_PATIENCE = 10.0
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
