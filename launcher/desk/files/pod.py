"""The pod through which files are copied: the launcher's image, the volume, and nothing that it could do besides.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from launcher.contract import FILES_LABEL, MANAGED_BY, NAME, PYTHON, USER
from launcher.desk.config.datacenters import Storage
from launcher.desk.errors import Problem

Json = dict[str, Any]

CONTAINER = "files"
MOUNT = "/volume"
AGENT = (PYTHON, "-I", "-m", "launcher.files")
SERVE = (*AGENT, "serve", MOUNT)
LONGEST = 12 * 3600  # seconds; it ends by itself soon after the last desk has gone


def manifest(
    name: str, image: str, storage: Storage, *, read_only: bool, restricted: bool, registries: Sequence[str] = ()
) -> Json:
    """Return the pod; it may write as the pods of jobs may."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {MANAGED_BY: NAME, FILES_LABEL: name}},
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": LONGEST,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            **({"imagePullSecrets": [{"name": each} for each in registries]} if registries else {}),
            "securityContext": _user(restricted=restricted),
            "volumes": [{"name": "volume", **_source(storage)}],
            "containers": [_container(image, storage, read_only=read_only, restricted=restricted)],
        },
    }


def _container(image: str, storage: Storage, *, read_only: bool, restricted: bool) -> Json:
    mount: Json = {"name": "volume", "mountPath": MOUNT}
    security: Json = {"allowPrivilegeEscalation": False}
    if storage.path:
        mount["subPath"] = storage.path
    if read_only:
        mount["readOnly"] = True
    if restricted:
        security |= {"readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    return {
        "name": CONTAINER,
        "image": image,
        "command": [*AGENT, "hold"],
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": security,
        "volumeMounts": [mount],
    }


def _user(*, restricted: bool) -> Json:
    seccomp = {"seccompProfile": {"type": "RuntimeDefault"}}
    if not restricted:
        return seccomp
    group = {"fsGroup": USER, "fsGroupChangePolicy": "OnRootMismatch"}
    return {"runAsNonRoot": True, "runAsUser": USER, "runAsGroup": USER, **group, **seccomp}


def _source(storage: Storage) -> Json:
    if storage.claim:
        return {"persistentVolumeClaim": {"claimName": storage.claim}}
    if storage.host_path:
        return {"hostPath": {"path": storage.host_path}}
    if storage.nfs:
        server, _, path = storage.nfs.partition(":/")
        return {"nfs": {"server": server.strip("[]"), "path": f"/{path}"}}
    raise Problem(
        "the datacenter's volume is given by its CSI driver, which only jobs can use: to copy files, create a "
        "claim and set `volume: {claim: NAME}`"
    )
