"""Volumes of a job: what each is in a pod, and the objects that are made for it.

No I/O here. Kubernetes has no CephFS of its own since 1.31: it comes through Ceph's CSI driver, as any other
file system that a driver brings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from posixpath import normpath

from launcher.contract import HOME
from launcher.job.names import is_subdomain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

MONITORS = re.compile(r"[-A-Za-z0-9.:\[\]]+(,[-A-Za-z0-9.:\[\]]+)*")
NFS = re.compile(r"[-A-Za-z0-9.]+:/.*|\[[0-9A-Fa-f:]+\]:/.*")
# What the pods have there themselves.
TAKEN = (
    *("/", "/bin", "/dev", "/etc", "/lib", "/proc", "/root", "/sys", "/usr"),
    *("/dev/shm", HOME, "/tmp", "/work"),  # noqa: S108
)


@dataclass(frozen=True)
class Volume:
    """A directory that all pods share, of one of four kinds: a claim, a node's directory, NFS, or a CSI driver's.

    `nfs` is "server:/path"; `csi` is what a PersistentVolume says of it: `driver` and `volumeHandle` at least.
    """

    mount_path: str
    claim: str = ""
    host_path: str = ""
    nfs: str = ""
    csi: Mapping[str, Any] = field(default_factory=dict, hash=False)
    sub_path: str = ""
    read_only: bool = False

    def __post_init__(self) -> None:
        """Copy the mapping, which the caller could change."""
        if isinstance(self.csi, dict):
            object.__setattr__(self, "csi", dict(self.csi))

    @property
    def direct(self) -> bool:
        """Whether a pod itself names where it is, which the restricted standard forbids."""
        return bool(self.host_path or self.nfs)

    def problems(self) -> Iterator[str]:
        """Yield a sentence for each thing that it cannot be."""
        kinds = [name for name in ("claim", "host_path", "nfs", "csi") if getattr(self, name)]
        if len(kinds) != 1:
            told = f"has {' and '.join(kinds)}" if kinds else "has no source"
            yield f"Volume(mount_path={self.mount_path!r}) {told}: expected one of claim, host_path, nfs and csi"
        yield from _of_mount(self.mount_path)
        if self.claim and not is_subdomain(self.claim):
            yield f"claim={self.claim!r}: expected the name of a PersistentVolumeClaim, in lower case"
        if self.sub_path and not is_below(self.sub_path):
            yield f"sub_path={self.sub_path!r}: expected a relative path without `..`"
        if self.host_path and not _absolute(self.host_path):
            yield f"host_path={self.host_path!r}: expected an absolute path without `..`"
        if self.nfs and not (NFS.fullmatch(str(self.nfs)) and _absolute(self.nfs[self.nfs.index("/") :])):
            yield f"nfs={self.nfs!r}: expected server:/path, such as 10.0.0.2:/exports"
        lacking = [] if "csi" not in kinds else [name for name in ("driver", "volumeHandle") if name not in self.csi]
        if lacking and not isinstance(self.csi, dict):
            yield f"csi={self.csi!r}: expected the csi part of a PersistentVolume, driver and volumeHandle at least"
        elif lacking:
            yield f"csi={self.csi!r} lacks {' and '.join(lacking)}: expected the csi part of a PersistentVolume"
        elif "csi" in kinds:
            wrong = [key for key, value in self.csi.items() if key.endswith("SecretRef") and not _is_named(value)]
            yield from (f"csi has {key}: {self.csi[key]!r}: expected the Secret as {{'name': ...}}" for key in wrong)


@dataclass(frozen=True)
class CephFSVolume:
    """A CephFS, or a directory of it, by its monitors; `secret_name` is a Secret in the job's namespace.

    Ceph's CSI driver reads `userID` and `userKey` in that Secret: the first is `user`.
    """

    monitors_addr: str
    user: str = "admin"
    secret_name: str = "cephfs-secret"  # noqa: S105  # its name
    mount_path: str = "/mnt/cephfs"
    path: str = "/"

    def problems(self) -> Iterator[str]:
        """Yield a sentence for each thing that it cannot be."""
        if not isinstance(self.monitors_addr, str) or not MONITORS.fullmatch(self.monitors_addr):
            yield f"monitors_addr={self.monitors_addr!r}: expected the addresses of Ceph's monitors, as 10.0.0.2:6789"
        if not is_subdomain(self.secret_name):
            yield f"secret_name={self.secret_name!r}: expected the name of a Secret in the job's namespace"
        if not _absolute(self.path):
            yield f"CephFSVolume path={self.path!r}: expected an absolute path of the CephFS, without `..`"
        yield from _of_mount(self.mount_path)

    def volume(self) -> Volume:
        """Return the same by Ceph's CSI driver, which accepts monitors if it provisions nothing."""
        return Volume(
            mount_path=self.mount_path,
            csi={
                "driver": "cephfs.csi.ceph.com",
                "nodeStageSecretRef": {"name": self.secret_name},
                "volumeAttributes": {
                    "monitors": self.monitors_addr,
                    "provisionVolume": "false",
                    "rootPath": self.path,
                },
            },
        )


def _is_named(reference: object) -> bool:
    return isinstance(reference, dict) and isinstance(reference.get("name"), str)


def is_free(path: object) -> bool:
    """Return whether something can be mounted there beside what the pods have themselves."""
    return not [*_of_mount(path)]


def _of_mount(path: object) -> Iterator[str]:
    if not _absolute(path) or ":" in str(path):
        yield f"mount_path={path!r}: expected an absolute path without `..` and colons, such as /home/jobpath"
    elif any(f"{each}/".startswith(f"{normpath(str(path))}/".replace("//", "/")) for each in TAKEN):
        yield f"mount_path={path!r}: the pod has its own directory there; expected another, such as /home/jobpath"


def _absolute(path: object) -> bool:
    return isinstance(path, str) and path.startswith("/") and path.isprintable() and ".." not in path.split("/")


def is_below(path: object) -> bool:
    """Return whether a path is relative, and stays below what it is joined to."""
    return isinstance(path, str) and _absolute("/" + path) and not path.startswith("/")
