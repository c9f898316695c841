"""The pod through which files are copied: the launcher's image, the volume, and nothing that it could do besides.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from launcher.contract import FILES_LABEL, MANAGED_BY, NAME, own_python
from launcher.desk.config.datacenters import Storage
from launcher.desk.errors import Problem
from launcher.job import podspec

_Json = dict[str, Any]

CONTAINER = "files"
MOUNT = "/volume"
AGENT = (own_python(), "-I", "-m", "launcher.files")
SERVE = (*AGENT, "serve", MOUNT)
_LONGEST = 12 * 3600  # seconds; it ends by itself soon after the last desk has gone


def files_pod(
    name: str,
    image: str,
    storage: Storage | None,
    *,
    read_only: bool,
    restricted: bool,
    registries: Sequence[str] = (),
) -> _Json:
    """Return the pod; it may write as the pods of jobs may. Without a storage its volume is its own."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {MANAGED_BY: NAME, FILES_LABEL: name}},
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": _LONGEST,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            **({"imagePullSecrets": [{"name": each} for each in registries]} if registries else {}),
            "securityContext": podspec.user(restricted=restricted),
            "volumes": [{"name": "volume", **_source(storage)}],
            "containers": [_container(image, storage, read_only=read_only, restricted=restricted)],
        },
    }


def _container(image: str, storage: Storage | None, *, read_only: bool, restricted: bool) -> _Json:
    mount: _Json = {"name": "volume", "mountPath": MOUNT}
    if storage and storage.path:
        mount["subPath"] = storage.path
    if read_only:
        mount["readOnly"] = True
    return {
        "name": CONTAINER,
        "image": image,
        "command": [*AGENT, "hold"],
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": podspec.security(restricted=restricted),
        "volumeMounts": [mount],
    }


def _source(storage: Storage | None) -> _Json:
    if storage is None:
        return {"emptyDir": {}}
    if storage.claim or storage.host_path or storage.nfs:
        return podspec.volume_source(host_path=storage.host_path, nfs=storage.nfs, claim=storage.claim)
    raise Problem(
        "the datacenter's volume is defined by its CSI driver, which only jobs can use: to copy files, "
        "create a claim and set `volume: {claim: NAME}`"
    )
