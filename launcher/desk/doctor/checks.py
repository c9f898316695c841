"""What `doctor` makes of what it found: a sentence for each, and a remedy where something is wrong.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

# What the verbs of the desk ask for, of each group's resources: what k8s/rbac/desk gives.
NEEDED = {
    ("batch", "jobs"): ("get", "list", "watch", "create", "patch", "delete"),
    ("", "pods"): ("get", "list", "watch", "create", "delete"),
    ("", "pods/log"): ("get",),
    ("", "pods/exec"): ("get", "create"),
    ("", "pods/proxy"): ("get",),
    ("", "services"): ("get", "list", "create", "delete"),
    ("networking.k8s.io", "networkpolicies"): ("get", "list", "create", "delete"),
    ("", "persistentvolumeclaims"): ("get", "list", "create", "delete"),
    ("", "secrets"): ("get", "list", "create", "patch", "delete"),
    ("", "events"): ("get", "list"),
    ("", "resourcequotas"): ("get", "list"),
}
RIGHTS = tuple((group, resource, verb) for (group, resource), verbs in NEEDED.items() for verb in verbs)
ROLE = "let whoever gives rights in the namespace apply k8s/rbac/desk"
SHARED = ("ReadWriteMany", "RWX")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    what: str
    good: bool
    sentence: str
    remedy: str = ""


def rights(refused: Iterable[tuple[str, str, str]], namespace: str) -> Finding:
    """Say which rights are missing."""
    missing = [f"{verb} {resource}" for _, resource, verb in refused]
    if not missing:
        return Finding(what="rights", good=True, sentence=f"all that paddlectl needs in {namespace}")
    return Finding(what="rights", good=False, sentence=f"missing in {namespace}: {', '.join(missing)}", remedy=ROLE)


def pods(refusal: str, namespace: str) -> Finding:
    """Say whether the namespace takes pods as ours are: its pod security standard, its limits, its quota."""
    if refusal:
        remedy = "name the volume by a claim, or take a namespace that admits such pods"
        return Finding(what="pods", good=False, sentence=refusal, remedy=remedy)
    return Finding(what="pods", good=True, sentence=f"the namespace takes pods as ours are: {namespace}")


def claim(found: Json) -> Finding:
    """Say whether a claim is bound, and whether every node can write to it."""
    name = found.get("metadata", {}).get("name", "")
    phase, modes = found.get("status", {}).get("phase"), found.get("spec", {}).get("accessModes") or []
    if phase != "Bound":
        remedy = (
            f"`kubectl describe pvc {name}` says for what it waits (a class that binds late waits for its first pod)"
        )
        return Finding(what="volume", good=False, sentence=f"the claim {name} is {phase}, not Bound", remedy=remedy)
    if not any(mode in SHARED for mode in modes):
        remedy = (
            "take a claim with accessModes [ReadWriteMany]: NFS, CephFS, EFS and their like can, block devices cannot"
        )
        return Finding(
            what="volume",
            good=False,
            sentence=f"the claim {name} is {', '.join(modes)}: one node's alone",
            remedy=remedy,
        )
    return Finding(what="volume", good=True, sentence=f"the claim {name} is bound, and every node can write to it")


def no_volume(named: str) -> Finding:
    """Say what a datacenter without a volume cannot do."""
    return Finding(
        what="volume",
        good=False,
        sentence=f"{named} has no volume: jobs keep no logs and models, and start from nothing after a failure",
        remedy="make a claim that all nodes can write to, and say `volume: {claim: NAME}` in the configuration",
    )


def quota(quotas: Iterable[Json]) -> Finding:
    """Say what is used up."""
    full = [
        f"{resource} {used} of {limit}"
        for each in quotas
        for resource, limit in ((each.get("status") or {}).get("hard") or {}).items()
        if (used := (each["status"].get("used") or {}).get(resource)) == limit
    ]
    if full:
        remedy = "`paddlectl get jobs` shows what holds it; `paddlectl kill` ends one"
        return Finding(what="quota", good=False, sentence=f"used up: {', '.join(full)}", remedy=remedy)
    return Finding(what="quota", good=True, sentence="nothing is used up")


def dns(endpoints: Iterable[Json]) -> Finding:
    """Say whether somebody answers for names in the cluster."""
    ready = [
        each
        for piece in endpoints
        for each in piece.get("endpoints") or ()
        if (each.get("conditions") or {}).get("ready") is not False
    ]
    if ready:
        return Finding(what="dns", good=True, sentence="the cluster's DNS has somebody behind it")
    return Finding(
        what="dns",
        good=False,
        sentence="nobody answers behind the Service kube-dns, by whose names the pods of a job meet",
        remedy="ask who keeps the cluster to look at CoreDNS in kube-system",
    )


def registries(names: Iterable[str]) -> Finding:
    """Say which pull secrets there are."""
    found = ", ".join(names)
    if found:
        return Finding(what="image", good=True, sentence=f"pull secrets for submit -registry: {found}")
    return Finding(what="image", good=True, sentence="no pull secret: images have to be public, or on every node")


def shm(pods: Iterable[Mapping[str, Any]]) -> Finding:
    """Say which pods have the 64 MiB of /dev/shm that a container has by itself; data loaders die of it."""
    small = []
    for pod in pods:
        mounts = [
            each.get("mountPath")
            for box in pod["spec"].get("containers", ())
            for each in box.get("volumeMounts") or ()
        ]
        if "/dev/shm" not in mounts:  # noqa: S108  # a pod's own
            small.append(pod["metadata"]["name"])
    if small:
        remedy = "submit again: a PaddleJob of today brings 512 MiB"
        return Finding(
            what="shm", good=False, sentence=f"64 MiB of /dev/shm alone in {', '.join(small[:5])}", remedy=remedy
        )
    return Finding(what="shm", good=True, sentence="every pod of a job has a /dev/shm of its own, 512 MiB")


def unknown(what: str, why: str) -> Finding:
    """Say what could not be looked at."""
    return Finding(what=what, good=True, sentence=f"not looked at: {why}")
