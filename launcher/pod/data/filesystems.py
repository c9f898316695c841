"""Whether a directory's file operations wait for a network: then copying many files side by side pays.

Threads cost more than they gain on a local disk, where the interpreter's lock is what they wait for.
"""

from __future__ import annotations

import os
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
SIDE_BY_SIDE = 32
NETWORKS = frozenset(
    ["9p", "afs", "beegfs", "ceph", "cifs", "gfs2", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "ocfs2", "orangefs"]
)


def threads_for(directory: int, mounts: Path = MOUNTS) -> int:
    """Return how many files to copy at a time from an open directory."""
    try:
        device, text = os.fstat(directory).st_dev, mounts.read_text(errors="replace")
    except OSError:
        return 1
    return SIDE_BY_SIDE if is_network(kind_of(device, text)) else 1


def is_network(kind: str) -> bool:
    """Return whether a file system of this kind has its files elsewhere; most in user space do."""
    return kind in NETWORKS or kind == "fuse" or kind.startswith("fuse.")


def kind_of(device: int, text: str) -> str:
    """Return the kind of the file system with this device number, nothing if no mount has it."""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) > 2 and fields[2] == wanted and after:
            return after.split(" ")[0]
    return ""
