"""The group that pods are looked for in, and what is said of one that is not complete.

No I/O here. A sentence changes only when something did, since it is told once per change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launcher.pod.settings.nouns import Role

if TYPE_CHECKING:
    from launcher.kube.pod_json import Seen

_SHOWN = 5  # of many that are waited for
_KIND = {Role.NODE: "pods", Role.PSERVER: "pservers", Role.TRAINER: "trainers"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One kind of pod that is waited for: how it is found, how many there must be, and who says so."""

    role: Role
    selector: str
    expected: int
    counted_by: str


def newest_owner(seen: Iterable[Seen]) -> str:
    """Return the UID of the newest Job that still has a pod to come or running; a Job is as old as its oldest pod."""
    here: set[str] = set()
    began: dict[str, str] = {}
    for pod in seen:
        began[pod.owner] = min(began.get(pod.owner, pod.created), pod.created)
        if pod.owner and not pod.over:
            here.add(pod.owner)
    return max(here, key=lambda owner: (began[owner], owner), default="")


def missing(group: Group, ours: Collection[Seen], *, others: int) -> str:
    """Return why a group is not complete: of this Job's pods, beside so many of another's under the same label."""
    live = [pod for pod in ours if pod.live]
    count = f"{len(live)} of {group.expected} {_KIND[group.role]} are running"
    if len(live) > group.expected:
        names = ", ".join(sorted(pod.name for pod in live))
        return (
            f"{len(live)} {_KIND[group.role]} are running, {group.expected} expected: waiting for one to go ({names})"
        )
    if len(live) == group.expected:
        return f"{count}, two of them with one completion index: waiting for the old one to go"
    why = [f"{pod.name} {_why(pod)}" for pod in sorted(ours, key=lambda pod: (pod.over, pod.name)) if not pod.live]
    if len(why) > _SHOWN:
        why[_SHOWN:] = [f"and {len(why) - _SHOWN} more"]
    here = sum(not pod.over for pod in ours)
    if here < group.expected:
        why.append(f"{here} pods exist, {group.expected} expected by {group.counted_by}")
    if others:
        why.append(f"{others} more with this label belong to another Job")
    return f"{count}: " + "; ".join(why)


def _why(pod: Seen) -> str:
    state = pod.why or "is " + pod.phase
    return f"no longer counts ({state})" if pod.over else state
