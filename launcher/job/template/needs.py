"""What a gang needs of its pods, and no overlay may take away.

No I/O here.
"""

from __future__ import annotations

from launcher.contract import BROUGHT, STATUS_PORT
from launcher.job.problem import Mistake, Parameter
from launcher.job.template.asked import is_ours
from launcher.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    Json = dict[str, Any]

_NAMES = "the members find each other by the names that the Job gives to its pods"
# Fields of a pod's spec that stay as they are, each with the reason.
_STAY = {
    "restartPolicy": "the Job replaces a pod that has failed, and its verdict is seen once",
    "subdomain": _NAMES,
    "hostname": _NAMES,
}


def lost(before: Json, after: Json, said_by: Mapping[str, str]) -> Iterator[Mistake]:
    """Yield a sentence for each thing that is gone or changed; `said_by` has which parameter sets a variable."""
    for key in sorted({*after}.difference(("metadata", "spec"))):
        yield _told(f" has {key}: expected metadata and spec, as a Pod has them")
    was, now = before["metadata"], after.get("metadata", {})
    for kind in ("labels", "annotations"):
        old, new = was.get(kind, {}), now.get(kind, {})
        if not isinstance(new, dict):
            yield _told(f" has {kind} that are no mapping: expected names and values")
            continue
        changed = sorted(name for name in {*old, *new} if is_ours(name) and old.get(name) != new.get(name))
        for name in changed:
            yield _told(f" changes the {kind[:-1]} {name}: leave it out, as the job's pods are found by it")
    spec = after.get("spec", {})
    for field, why in _STAY.items():
        if before["spec"].get(field) != spec.get(field):
            yield _told(f" changes {field}: leave it out, as {why}")
    named = {each["name"] for each in spec.get("volumes", ())}
    for volume in before["spec"]["volumes"]:
        if volume["name"] not in named:
            yield _told(f" takes the volume {volume['name']} away: leave it, as it is mounted in the job's pods")
    for kind in ("initContainers", "containers"):
        found = {each["name"]: each for each in spec.get(kind, ())}
        for container in before["spec"].get(kind, ()):
            yield from _of_container(container, found.get(container["name"]), said_by)


def _of_container(before: Json, after: Json | None, said_by: Mapping[str, str]) -> Iterator[Mistake]:
    name = before["name"]
    if after is None:
        yield _told(f" takes the container {name} away: leave it, as the job runs in it")
        return
    if (before.get("command"), before.get("args")) != (after.get("command"), after.get("args")):
        yield Mistake(
            Parameter("pod", given=False),
            f" changes the command of the container {name}: leave out command and args, as the launcher is what runs "
            "there; what it starts is set by ",
            Parameter("entry_point", given=False),
        )
    if [each for each in before.get("ports", ()) if each not in after.get("ports", ())]:
        told = f"takes the status port {STATUS_PORT} of the container {name} away"
        yield _told(f" {told}: leave it, as probes and the gang's members ask there")
    yield from _of_mounts(name, before, after)
    yield from _of_variables(before, after, said_by)


def _of_mounts(name: str, before: Json, after: Json) -> Iterator[Mistake]:
    left = {each["mountPath"]: each for each in after.get("volumeMounts", ())}
    for mount in before.get("volumeMounts", ()):
        now = left.get(mount["mountPath"], {})
        if (mount["name"], mount.get("subPath")) != (now.get("name"), now.get("subPath")):
            there = "the launcher is" if mount["mountPath"] == BROUGHT else "the job's files are"
            yield _told(f" takes {mount['mountPath']} of the container {name} away: leave it, as {there} there")


def _of_variables(before: Json, after: Json, said_by: Mapping[str, str]) -> Iterator[Mistake]:
    old, new = ({each["name"]: each for each in container.get("env", ())} for container in (before, after))
    for name, by in said_by.items():
        if old.get(name) != new.get(name):
            yield Mistake(
                Parameter("pod", given=False), f" changes {name}: that is set by ", Parameter(by, given=False)
            )


def _told(sentence: str) -> Mistake:
    return Mistake(Parameter("pod", given=False), visible(sentence))
