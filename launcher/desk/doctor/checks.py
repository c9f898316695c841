"""The doctor's findings from outside: a sentence for each, and a remedy where something is wrong.

No I/O here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from launcher.kube import claims

_Json = dict[str, Any]

# What the verbs of the desk ask for, of each group's resources: what k8s/rbac/desk gives.
_NEEDED = {
    ("batch", "jobs"): ("get", "list", "watch", "create", "patch", "delete"),
    ("", "pods"): ("get", "list", "watch", "create", "delete"),
    ("", "pods/log"): ("get",),
    ("", "pods/exec"): ("get", "create"),
    ("", "pods/proxy"): ("get",),
    ("", "services"): ("get", "list", "create", "delete"),
    ("networking.k8s.io", "networkpolicies"): ("get", "list", "create", "delete"),
    ("", "persistentvolumeclaims"): ("get", "list", "create", "delete"),
    ("", "configmaps"): ("get", "list", "create", "delete"),
    ("", "secrets"): ("get", "list", "create", "patch", "delete"),
    ("", "events"): ("get", "list"),
    ("", "resourcequotas"): ("get", "list"),
}
RIGHTS = tuple((group, resource, verb) for (group, resource), verbs in _NEEDED.items() for verb in verbs)
_UNITS = {
    **{
        unit: Decimal(1000) ** power
        for power, unit in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), -3)
    },
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,3})|([numkMGTPE]|[KMGTPE]i))?")
_SHM, _SMALL = "/dev/shm", 64 << 20  # noqa: S108  # a pod's own; what a container has by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was checked."""

    what: str
    good: bool
    sentence: str
    remedy: str = ""
    checked: bool = True  # what was not is no failure

    @property
    def mark(self) -> str:
        """What stands before it."""
        return "--" if not self.checked else "ok" if self.good else "FAIL"


def summary(found: Collection[Finding]) -> str:
    """Return what is to be known of all findings besides their sentences: how many were not checked."""
    left = [each for each in found if not each.checked]
    return f"{len(left)} of {len(found)} were not checked (--)" if left else ""


def rights(refused: Iterable[tuple[str, str, str]], namespace: str) -> Finding:
    """Judge the rights of the user."""
    missing = [f"{verb} {resource}" for _, resource, verb in refused]
    if not missing:
        return Finding(what="rights", good=True, sentence=f"paddlectl has all rights that it needs in {namespace}")
    remedy = f"ask an administrator of the namespace to run `kubectl apply -n {namespace} -f k8s/rbac/desk`"
    return Finding(what="rights", good=False, sentence=f"missing in {namespace}: {', '.join(missing)}", remedy=remedy)


def pods_finding(refusal: str, namespace: str) -> Finding:
    """Say whether the namespace admits the pods of jobs: its pod security standard, its limits, its quota."""
    if refusal:
        remedy = "use a claim for the volume, or a namespace that admits such pods"
        return Finding(what="pods", good=False, sentence=refusal, remedy=remedy)
    return Finding(what="pods", good=True, sentence=f"the namespace admits the pods of jobs: {namespace}")


def claim(found: _Json) -> Finding:
    """Say whether a claim is bound, and whether every node can write to it."""
    name = found.get("metadata", {}).get("name", "")
    phase, whose = found.get("status", {}).get("phase"), claims.only_for(found)
    if phase != "Bound":
        remedy = f"`kubectl describe pvc {name}` shows why (some storage classes bind when the first pod starts)"
        return Finding(what="volume", good=False, sentence=f"the claim {name} is {phase}, not Bound", remedy=remedy)
    if whose:
        sentence = (
            f"the claim {name} is bound, for {whose} at a time ({', '.join(claims.modes(found))}): enough for "
            "jobs of one pod; others need one with accessModes [ReadWriteMany], which NFS, CephFS and EFS support"
        )
        return Finding(what="volume", good=True, sentence=sentence)
    return Finding(what="volume", good=True, sentence=f"the claim {name} is bound, and every node can write to it")


def no_volume(named: str) -> Finding:
    """Say what is lost without a volume."""
    return Finding(
        what="volume",
        good=False,
        sentence=f"{named} has no volume: logs and models are lost with a job's pods, and a failed job starts anew",
        remedy="create a claim that all nodes can write to, and set `volume: {claim: NAME}` in the configuration",
    )


def quota(quotas: Iterable[_Json]) -> Finding:
    """Judge the namespace's quotas."""
    full = [
        f"{resource} {used} of {limit}"
        for each in quotas
        for resource, limit in ((each.get("status") or {}).get("hard") or {}).items()
        if _reached(used := (each["status"].get("used") or {}).get(resource), limit)
    ]
    if full:
        remedy = "`paddlectl get jobs` shows which jobs use it; `paddlectl kill` ends one"
        return Finding(what="quota", good=False, sentence=f"used up: {', '.join(full)}", remedy=remedy)
    return Finding(what="quota", good=True, sentence="no limit is reached")


def _reached(used: object, limit: object) -> bool:
    there, most = amount(used), amount(limit)
    return used == limit if there is None or most is None else there >= most


def amount(text: object) -> Decimal | None:
    """Return the number that a quantity of Kubernetes is, or None: 4, 4000m, 4k, 4Gi and 4e3 are some."""
    found = _QUANTITY.fullmatch(text) if isinstance(text, str) and len(text) < 40 else None
    if found is None:
        return None
    number, exponent, unit = found.groups()
    return Decimal(number) * (Decimal(10) ** int(exponent) if exponent else _UNITS[unit or ""])


def dns(endpoints: Iterable[_Json]) -> Finding:
    """Say whether the cluster's DNS service has a server that is ready."""
    ready = [
        each
        for piece in endpoints
        for each in piece.get("endpoints") or ()
        if (each.get("conditions") or {}).get("ready") is not False
    ]
    if ready:
        return Finding(what="dns", good=True, sentence="the cluster's DNS service has a server")
    return Finding(
        what="dns",
        good=False,
        sentence="no server is ready behind the Service kube-dns: the pods of a job cannot find each other by name",
        remedy="ask an administrator of the cluster to check CoreDNS in kube-system",
    )


def registries_finding(names: Iterable[str]) -> Finding:
    """List the pull secrets."""
    found = ", ".join(names)
    if found:
        return Finding(what="image", good=True, sentence=f"pull secrets for submit -registry: {found}")
    return Finding(
        what="image", good=True, sentence="no pull secret: images must be public, or present on every node"
    )


def shm_finding(pods: Iterable[Mapping[str, Any]]) -> Finding:
    """Say which pods have the 64 MiB of /dev/shm that a container has by itself, or less; data loaders die of it."""
    sizes = {each["metadata"]["name"]: _shm(each["spec"]) for each in pods}
    if not sizes:
        return unknown("shm", "there is no pod of a job")
    small = [name for name, size in sizes.items() if size is not None and size <= _SMALL]
    if small:
        remedy = "submit it again with --replace, and more -memory (its half is /dev/shm) or -shm"
        return Finding(
            what="shm", good=False, sentence=f"64 MiB of /dev/shm or less in {', '.join(small[:5])}", remedy=remedy
        )
    limited = [size for size in sizes.values() if size is not None]
    least = (
        f"{int(min(limited)) >> 20} MiB of /dev/shm or more" if limited else "a /dev/shm without a limit of its own"
    )
    return Finding(what="shm", good=True, sentence=f"every pod of a job has {least}")


def _shm(spec: Mapping[str, Any]) -> Decimal | None:
    """Return the size of a pod's /dev/shm, or None where the pod does not limit it."""
    mounts = [each for box in spec.get("containers", ()) for each in box.get("volumeMounts") or ()]
    names = [each.get("name") for each in mounts if each.get("mountPath") == _SHM]
    if not names:
        return Decimal(_SMALL)
    volumes = [each for each in spec.get("volumes") or () if each.get("name") in names]
    limits = [amount((each.get("emptyDir") or {}).get("sizeLimit")) for each in volumes]
    return min((each for each in limits if each is not None), default=None)


def unknown(what: str, why: str) -> Finding:
    """Say what could not be checked, which is no failure."""
    return Finding(what=what, good=True, checked=False, sentence=f"not checked: {why}")
