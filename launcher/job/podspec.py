"""What jobs' pods and the desk's own pods have in common: their user, their rights, their volumes.

No I/O here. Python 3.8: training programs describe jobs, too.
"""

from __future__ import annotations

from launcher.contract import USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

SHM = "/dev/shm"  # noqa: S108  # a volume of the pod's own


def user(*, restricted: bool) -> Json:
    """Return as whom a pod's processes run."""
    seccomp = {"seccompProfile": {"type": "RuntimeDefault"}}
    if not restricted:
        return seccomp
    # fsGroup lets the user write to volumes whose driver can; OnRootMismatch, or every start would walk through them.
    group = {"fsGroup": USER, "fsGroupChangePolicy": "OnRootMismatch"}
    return {"runAsNonRoot": True, "runAsUser": USER, "runAsGroup": USER, **group, **seccomp}


def security(*, restricted: bool) -> Json:
    """Return what a container's processes may do."""
    if not restricted:
        return {"allowPrivilegeEscalation": False}
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def volume_source(*, host_path: str, nfs: str, claim: str) -> Json:
    """Return where a volume comes from: a node's directory, "server:/path" of NFS, or else a claim."""
    if host_path:
        return {"hostPath": {"path": host_path}}
    if nfs:
        server, _, path = nfs.partition(":/")
        return {"nfs": {"server": server.strip("[]"), "path": f"/{path}"}}
    return {"persistentVolumeClaim": {"claimName": claim}}


def shm(size: str) -> Json:
    """Return a volume for /dev/shm.

    A container's own holds 64 MiB, and a data loader that fills it dies of SIGBUS. What is in this one counts as the
    container's memory.
    """
    return {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": size}}
