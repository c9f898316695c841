"""A pod's JSON, and a watch's lines, read into what is known of pods.

No I/O here. Nothing that the API could send raises: what has the wrong type is read as if it were absent.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from launcher.contract import INDEX_ANNOTATION
from launcher.pod.peers.pod_state import Seen
from launcher.text import one_line

OOM = "OOMKilled"
WORD_LIMIT = 253  # the longest name that Kubernetes gives to anything
SENTENCE_LIMIT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One line of a watch: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, and the state that it leads to."""

    kind: str
    pod: Mapping[str, object]
    version: str


def seen(pod: object) -> Seen:
    """Return what one pod's JSON says of it; what is missing or broken leaves it incomplete."""
    metadata, spec, status = _map(pod, "metadata"), _map(pod, "spec"), _map(pod, "status")
    phase, address = word(status.get("phase")), _address(status.get("podIP"))
    leaving, why = metadata.get("deletionTimestamp") is not None, _why(status, phase, address)
    return Seen(
        name=word(metadata.get("name")),
        uid=word(metadata.get("uid")),
        phase=phase,
        address=address,
        leaving=leaving,
        owner=_controller(metadata),
        created=word(metadata.get("creationTimestamp")),
        hostname=word(spec.get("hostname")),
        index=_index(metadata),
        # A pod that is cleared away after it ran out of memory was lost to that, not to the clearing.
        why="is being deleted" if leaving and OOM not in why else why,
    )


def listed(text: bytes) -> tuple[tuple[Mapping[str, object], ...], str] | None:
    """Return the objects of a list and the version that it shows, or None where it is no list."""
    answer = _parsed(text)
    version = word(_map(answer, "metadata").get("resourceVersion"))
    items = _object(answer).get("items")
    if not version or not isinstance(items, list):
        return None
    return tuple(_rows(items)), version


def changed(line: bytes) -> Change | None:
    """Return what a watch's line says, or None where it says nothing that can be read."""
    event = _object(_parsed(line))
    kind, pod = word(event.get("type")), _map(event, "object")
    if not kind:
        return None
    return Change(kind=kind, pod=pod, version=word(_map(pod, "metadata").get("resourceVersion")))


def message(text: bytes) -> str:
    """Return the sentence in an answer that is no success: a Status's message, else the text itself."""
    return sentence(_object(_parsed(text)).get("message")) or sentence(text.decode(errors="replace"))


def label(pod: bytes, name: str) -> str | None:
    """Return a label of the pod in an answer, or None where it has none of that name."""
    found = _map(_object(_parsed(pod)).get("metadata"), "labels").get(name)
    return found if isinstance(found, str) else None


def word(value: object) -> str:
    """Return a value that is a name or a number of Kubernetes; anything else is no word."""
    good = isinstance(value, str) and value.isprintable() and len(value) <= WORD_LIMIT
    return str(value) if good else ""


def sentence(value: object) -> str:
    """Return a message as one line of bounded length."""
    return one_line(value, SENTENCE_LIMIT) if isinstance(value, str) else ""


def _why(status: Mapping[str, object], phase: str, address: str) -> str:
    for condition in _rows(status.get("conditions")):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return _joined("is not scheduled", condition)
    stages = (("init container", "initContainerStatuses"), ("container", "containerStatuses"))
    for kind, key in stages:
        for container in _rows(status.get(key)):
            if why := _container(f"{kind} {word(container.get('name'))}", _map(container, "state"), kind):
                return why
    if word(status.get("reason")):
        return _joined(f"is {phase}", status)
    return "is Running without an address yet" if phase == "Running" and not address else ""


def _container(who: str, state: Mapping[str, object], kind: str) -> str:
    waiting, ended = _map(state, "waiting"), _map(state, "terminated")
    code = ended.get("exitCode")
    if isinstance(code, int) and code:
        return _joined(f"has its {who} ended with code {code}", ended)
    if isinstance(state.get("running"), dict):
        return f"is still in its {who}" if kind == "init container" else ""
    return _joined(f"has its {who} waiting", waiting) if waiting else ""


def _joined(fact: str, said: Mapping[str, object]) -> str:
    return ": ".join(filter(None, (fact, sentence(said.get("reason")), sentence(said.get("message")))))


def _controller(metadata: Mapping[str, object]) -> str:
    owners = (row for row in _rows(metadata.get("ownerReferences")) if row.get("controller") is True)
    return next((word(owner.get("uid")) for owner in owners), "")


def _index(metadata: Mapping[str, object]) -> int | None:
    for place in ("annotations", "labels"):
        text = word(_map(metadata, place).get(INDEX_ANNOTATION))
        if re.fullmatch(r"[0-9]{1,9}", text):
            return int(text)
    return None


def _address(value: object) -> str:
    try:
        return str(ipaddress.ip_address(word(value)))
    except ValueError:
        return ""


def _parsed(text: bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _map(value: object, key: str) -> Mapping[str, object]:
    return _object(_object(value).get(key))


def _rows(value: object) -> Iterable[Mapping[str, object]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
