"""A pod as its peers look for it: its address, its phase, and why it is not running, from the API's JSON.

No I/O here. Nothing that the API could send raises: what has the wrong type is read as if it were absent.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from launcher.kube import objects
from launcher.kube.objects import Object, mapping, one_sentence, rows, word

OOM = "OOMKilled"
_LONGEST_GRACE = 1 << 31  # Kubernetes has no limit: a number that a float holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One pod as it was last seen."""

    name: str
    uid: str
    phase: str
    address: str = ""
    leaving: bool = False
    owner: str = ""
    created: str = ""
    hostname: str = ""
    index: int | None = None
    why: str = ""
    node: str = ""
    grace: float = 0.0  # of its deletion, in seconds

    @property
    def live(self) -> bool:
        """Whether the pod can be a peer: running, reachable, not on its way out."""
        return self.phase == "Running" and bool(self.address) and not self.leaving

    @property
    def over(self) -> bool:
        """Whether the pod has ended or is being deleted."""
        return self.leaving or self.ended

    @property
    def ended(self) -> bool:
        """Whether nothing of the pod runs any more."""
        return self.phase in ("Succeeded", "Failed")


def seen(pod: object) -> Seen:
    """Return what one pod's JSON says of it; what is missing or broken leaves it incomplete."""
    metadata, spec, status = mapping(pod, "metadata"), mapping(pod, "spec"), mapping(pod, "status")
    phase, address = word(status, "phase"), _address(word(status, "podIP"))
    leaving, why = metadata.get("deletionTimestamp") is not None, _why(status, phase, address)
    return Seen(
        name=word(metadata, "name"),
        uid=word(metadata, "uid"),
        phase=phase,
        address=address,
        leaving=leaving,
        owner=_controller(metadata),
        created=word(metadata, "creationTimestamp"),
        hostname=word(spec, "hostname"),
        index=objects.completion_index(metadata),
        # A pod that is cleared away after it ran out of memory was lost to that, not to the clearing.
        why="is being deleted" if leaving and OOM not in why else why,
        node=word(spec, "nodeName"),
        grace=_seconds(metadata.get("deletionGracePeriodSeconds")),
    )


def label(pod: bytes, name: str) -> str | None:
    """Return a label of the pod in an answer, or None where it has none of that name."""
    found = mapping(objects.parsed_json(pod), "metadata", "labels").get(name)
    return found if isinstance(found, str) else None


def _why(status: Object, phase: str, address: str) -> str:
    for condition in rows(status, "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return _joined("is not scheduled", condition)
    stages = (("init container", "initContainerStatuses"), ("container", "containerStatuses"))
    for kind, key in stages:
        for container in rows(status, key):
            if why := _container(f"{kind} {word(container, 'name')}", mapping(container, "state"), kind):
                return why
    if word(status, "reason"):
        return _joined(f"is {phase}", status)
    return "is Running without an address yet" if phase == "Running" and not address else ""


def _container(who: str, state: Object, kind: str) -> str:
    waiting, ended = mapping(state, "waiting"), mapping(state, "terminated")
    code = ended.get("exitCode")
    if isinstance(code, int) and code:
        return _joined(f"lost its {who} with code {code}", ended)
    if isinstance(state.get("running"), dict):
        return f"is still running its {who}" if kind == "init container" else ""
    return _joined(f"waits for its {who}", waiting) if waiting else ""


def _joined(fact: str, said: Object) -> str:
    return ": ".join(filter(None, (fact, one_sentence(said.get("reason")), one_sentence(said.get("message")))))


def _seconds(found: object) -> float:
    return float(found) if isinstance(found, int) and 0 < found < _LONGEST_GRACE else 0.0


def _controller(metadata: Object) -> str:
    owners = (row for row in rows(metadata, "ownerReferences") if row.get("controller") is True)
    return next((word(owner, "uid") for owner in owners), "")


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""
