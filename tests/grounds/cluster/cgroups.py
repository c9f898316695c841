"""The cgroups that the nodes' pods live in: one tree in every hierarchy, made before and removed after."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.grounds.cluster.fault import Broken

TOP = "paddle-launcher-ground"
MOUNT = Path("/sys/fs/cgroup")


def hierarchies() -> tuple[Path, ...]:
    """Return where cgroups are mounted: one place (version 2), or one for each controller (version 1)."""
    if (MOUNT / "cgroup.controllers").exists():
        return (MOUNT,)
    return tuple(sorted(path for path in MOUNT.iterdir() if path.is_mount() and not path.is_symlink()))


def make(name: str) -> str:
    """Make the cgroup of a node, and return its path as the kubelet wants it."""
    for hierarchy in hierarchies():
        for path in (hierarchy / TOP, hierarchy / TOP / name):
            path.mkdir(exist_ok=True)
            if hierarchy.name == "unified":
                continue
            if hierarchy == MOUNT:
                pass_on(path.parent)
            fill(path)
    return f"/{TOP}/{name}"


def fill(path: Path) -> None:
    """Copy the processors from above (version 1): a cpuset without any takes no process."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (path / name).exists() and not (path / name).read_text().strip():
            (path / name).write_text((path.parent / name).read_text())


def pass_on(path: Path) -> None:
    """Hand the controllers down (version 2)."""
    wanted = {"cpu", "cpuset", "io", "memory", "pids"} & set((path / "cgroup.controllers").read_text().split())
    (path / "cgroup.subtree_control").write_text(" ".join(f"+{controller}" for controller in sorted(wanted)))


def remove(timeout: float = 10) -> None:
    """Remove the whole tree; processes that were killed a moment ago may still be leaving it."""
    deadline = time.monotonic() + timeout
    for top in (hierarchy / TOP for hierarchy in hierarchies()):
        while top.exists():
            try:
                for here, _, _ in os.walk(top, topdown=False):
                    os.rmdir(here)  # noqa: PTH106  # a cgroup's files go with it
            except OSError as error:
                if time.monotonic() > deadline:
                    raise Broken(
                        f"{error.filename} cannot be removed: {error.strerror}; a process is in it"
                    ) from error
                time.sleep(0.05)
