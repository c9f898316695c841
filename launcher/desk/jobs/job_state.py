"""What the API's JSON says of a job and of its pods, as far as the desk asks.

No I/O here. A field that is missing or has the wrong type is read as absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from launcher.contract import INDEX_ANNOTATION, JOB_LABEL, PSERVER, PSERVERS_LABEL, SPEC_ANNOTATION, TRAINER

# A container that waits for one of these gets no further by itself.
STUCK = {
    "ErrImagePull": "its image cannot be pulled",
    "ImagePullBackOff": "its image cannot be pulled",
    "InvalidImageName": "its image has an invalid name",
    "ErrImageNeverPull": "its image is not on the node",
    "CreateContainerConfigError": "its container cannot be made",
    "CreateContainerError": "its container cannot be made",
    "RunContainerError": "its container cannot be started",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeJob:
    """One Kubernetes Job of a gang."""

    gang: str
    name: str
    created: str
    started: str
    ended: str
    wanted: int
    active: int
    ready: int
    succeeded: int
    failed: int
    suspended: bool
    leaving: bool
    end: str  # Complete, Failed, or nothing
    why: str
    image: str
    spec: Mapping[str, Any] = field(default_factory=dict)

    @property
    def leads(self) -> bool:
        """Whether it is the trainers', which stands for the whole."""
        return bool(self.spec)

    @property
    def state(self) -> str:
        """One word for how it is."""
        if self.leaving:
            return "Terminating"
        if self.end or self.suspended:
            return self.end or "Killed"
        # Those that have succeeded are not ready any more, while the others still run.
        there = self.ready + self.succeeded >= self.wanted
        return "Running" if there and (self.active or self.succeeded) else "Starting"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubePod:
    """One pod of a gang."""

    name: str
    role: str
    rank: int
    phase: str
    started: str
    ready: bool
    leaving: bool
    node: str
    address: str
    restarts: int
    why: str  # what holds it up, or how it ended
    stuck: bool
    code: int | None
    message: str  # its last words
    container: str
    begun: bool  # its container has run, so that there is a log
    over: bool

    @property
    def title(self) -> str:
        """Role and rank, as log lines begin."""
        return f"{self.role}-{self.rank}" if self.rank >= 0 else self.name


def job(found: Mapping[str, Any]) -> KubeJob:
    """Return what a Job says."""
    metadata, spec, status = _map(found, "metadata"), _map(found, "spec"), _map(found, "status")
    ends = [each for each in _rows(status, "conditions") if each.get("status") == "True"]
    end = next((each for each in ends if each.get("type") in ("Complete", "Failed")), {})
    containers = _rows(_map(_map(spec, "template"), "spec"), "containers")
    return KubeJob(
        gang=_word(_map(metadata, "labels"), JOB_LABEL) or _word(metadata, "name"),
        name=_word(metadata, "name"),
        created=_word(metadata, "creationTimestamp"),
        started=_word(status, "startTime"),
        ended=_word(status, "completionTime") or _word(end, "lastTransitionTime"),
        wanted=_number(spec, "parallelism"),
        active=_number(status, "active"),
        ready=_number(status, "ready"),
        succeeded=_number(status, "succeeded"),
        failed=_number(status, "failed"),
        suspended=spec.get("suspend") is True,
        leaving=bool(metadata.get("deletionTimestamp")),
        end=_word(end, "type"),
        why=": ".join(filter(None, (_word(end, "reason"), _word(end, "message")))),
        image=_word(containers[0], "image") if containers else "",
        spec=_asked(_map(metadata, "annotations").get(SPEC_ANNOTATION)),
    )


def pod(found: Mapping[str, Any]) -> KubePod:
    """Return what a pod says."""
    metadata, spec, status = _map(found, "metadata"), _map(found, "spec"), _map(found, "status")
    labels = _map(metadata, "labels")
    states = _rows(status, "containerStatuses")
    own = states[0] if states else {}
    ended = _map(_map(own, "state"), "terminated") or _map(_map(own, "lastState"), "terminated")
    waiting = _word(_map(_map(own, "state"), "waiting"), "reason")
    ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in _rows(status, "conditions"))
    code, index = ended.get("exitCode"), _word(_map(metadata, "annotations"), INDEX_ANNOTATION)
    containers = _rows(spec, "containers")
    return KubePod(
        name=_word(metadata, "name"),
        role=PSERVER if PSERVERS_LABEL in labels else TRAINER,
        rank=int(index) if index.isdecimal() and len(index) < 7 else -1,
        phase=_word(status, "phase") or "Pending",
        started=_word(status, "startTime"),
        ready=ready,
        leaving=bool(metadata.get("deletionTimestamp")),
        node=_word(spec, "nodeName"),
        address=_word(status, "podIP"),
        restarts=_number(own, "restartCount"),
        why=_why(status, own, ended),
        stuck=waiting in STUCK,
        code=code if isinstance(code, int) else None,
        message=_word(ended, "message"),
        container=_word(containers[0], "name") if containers else "",
        begun=bool(_map(_map(own, "state"), "running") or ended),
        over=_word(status, "phase") in ("Succeeded", "Failed"),
    )


def in_order(pods: Iterable[KubePod]) -> tuple[KubePod, ...]:
    """Return pods by role, trainers first, and by rank."""
    return tuple(sorted(pods, key=lambda each: (each.role != TRAINER, each.rank, each.started, each.name)))


def _why(status: Mapping[str, Any], own: Mapping[str, Any], ended: Mapping[str, Any]) -> str:
    for condition in _rows(status, "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return f"no node takes it: {_word(condition, 'message')}"
    waiting = _map(_map(own, "state"), "waiting")
    if reason := _word(waiting, "reason"):
        text = f"{STUCK[reason]} ({reason})" if reason in STUCK else reason
        return ": ".join(filter(None, (text, _word(waiting, "message"))))
    code = ended.get("exitCode")
    if code is not None:
        said = _word(ended, "reason")
        return f"ended with {code}" + (f" ({said})" if said not in ("", "Error", "Completed") else "")
    return ": ".join(filter(None, (_word(status, "reason"), _word(status, "message"))))


def _asked(text: object) -> Mapping[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) and len(text) < 65536 else {}
    except (ValueError, RecursionError):
        return {"unreadable": True}
    return found if isinstance(found, dict) else {"unreadable": True}


def _map(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _rows(value: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = value.get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _word(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _number(value: Mapping[str, Any], key: str) -> int:
    found = value.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0
