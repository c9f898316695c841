"""The group that pods are looked for in, and what is said of one that is not complete.

No I/O here. A sentence changes only when something did, since it is told once per change.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from launcher.pod.settings.nouns import Role

if TYPE_CHECKING:
    from launcher.kube.pod_json import Seen

_SHOWN = 5  # of many that are waited for
_KIND = {Role.NODE: "pods", Role.PSERVER: "pservers", Role.TRAINER: "trainers"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One kind of pod that is waited for: how it is found, how many there must be, and who says so.

    `least` are enough; 0: all are needed.
    """

    role: Role
    selector: str
    expected: int
    counted_by: str
    least: int = 0

    @property
    def enough(self) -> int:
        """How many there must be at the least."""
        return self.least or self.expected

    @property
    def in_words(self) -> str:
        """How many are expected."""
        return f"{self.enough} to {self.expected}" if self.enough < self.expected else str(self.expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """How long pods of other Jobs hold up a start: by this machine's clock, since each was first seen being deleted.

    `beyond` is what follows a pod's grace: until then its programs may run. Without a record of runs it has no end.
    """

    now: float = 0.0
    since: Mapping[str, float] = field(default_factory=dict)
    beyond: float = math.inf

    def until(self, pod: Seen) -> float:
        """Return until when a pod that has not ended holds up the start."""
        return self.since.get(pod.uid, math.inf) + pod.grace + self.beyond

    def holds(self, pod: Seen) -> bool:
        """Return whether a pod of another Job holds up the start now."""
        return not pod.ended and self.now < self.until(pod)


def leaving_since(before: Mapping[str, float], seen: Iterable[Seen], now: float) -> dict[str, float]:
    """Return since when each pod is seen being deleted; its own deletion time is by another machine's clock."""
    return {pod.uid: before.get(pod.uid, now) for pod in seen if pod.leaving}


def still_ending(others: Collection[Seen]) -> str:
    """Return what is said of pods of other Jobs that hold up the start."""
    count = "1 pod" if len(others) == 1 else f"{len(others)} pods"
    names = [_ending(pod) for pod in sorted(others, key=lambda pod: pod.name)]
    if len(names) > _SHOWN:
        names[_SHOWN:] = [f"and {len(names) - _SHOWN} more"]
    return f"{count} of an earlier Job of this name {'is' if len(others) == 1 else 'are'} still ending: " + ", ".join(
        names
    )


def began(seen: Iterable[Seen], owner: str) -> str:
    """Return when a Job began: it is as old as its oldest pod."""
    return min((pod.created for pod in seen if pod.owner == owner), default="")


def newest_owner(seen: Iterable[Seen]) -> str:
    """Return the UID of the newest Job that still has a pod to come or running."""
    seen = tuple(seen)
    here = {pod.owner for pod in seen if pod.owner and not pod.over}
    return max(here, key=lambda owner: (began(seen, owner), owner), default="")


def missing(group: Group, ours: Collection[Seen], *, others: int) -> str:
    """Return why a group is not complete: of this Job's pods, beside so many of another's under the same label."""
    live = [pod for pod in ours if pod.live]
    count = f"{len(live)} of {group.in_words} {_KIND[group.role]} are running"
    if len(live) > group.expected:
        names = ", ".join(sorted(pod.name for pod in live))
        return (
            f"{len(live)} {_KIND[group.role]} are running, {group.in_words} expected: waiting for one to go ({names})"
        )
    if len(live) >= group.enough:
        return f"{count}, two of them with one completion index: waiting for the old one to go"
    why = [f"{pod.name} {_why(pod)}" for pod in sorted(ours, key=lambda pod: (pod.over, pod.name)) if not pod.live]
    if len(why) > _SHOWN:
        why[_SHOWN:] = [f"and {len(why) - _SHOWN} more"]
    here = sum(not pod.over for pod in ours)
    if here < group.enough:
        exist = "1 pod exists" if here == 1 else f"{here} pods exist"
        why.append(f"{exist}, {group.in_words} expected by {group.counted_by}")
    if others:
        why.append(f"{others} more with this label belong to another Job")
    return f"{count}: " + "; ".join(why)


def _ending(pod: Seen) -> str:
    state = "being deleted" if pod.leaving else f"{pod.phase}: kubectl delete pod {pod.name}"
    return f"{pod.name} on {pod.node or 'no node yet'} ({state})"


def _why(pod: Seen) -> str:
    state = pod.why or "is " + pod.phase
    return f"no longer counts ({state})" if pod.over else state
