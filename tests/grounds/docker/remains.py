"""What a daemon may leave behind when it was killed: processes, mounts, bridges, control groups, files.

Everything is found by the daemon's own directory or by names that only it has had.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tests.support.waiting import wait_until


def clear(directory: Path, group: str) -> None:
    """Remove all of it."""
    bridges = bridges_of(directory)
    wait_until(lambda: not _killed((*processes_of(directory), *processes_in(group))), timeout=10)
    for path in reversed(mounts_of(directory)):
        subprocess.run(("umount", "--lazy", path), capture_output=True, check=False)
    for bridge in bridges:
        if Path("/sys/class/net", bridge).exists():
            subprocess.run(("ip", "link", "delete", bridge), capture_output=True, check=False)
    for found in groups_of(group):
        with suppress(OSError):
            found.rmdir()
    shutil.rmtree(directory, ignore_errors=True)


def remains(directory: Path, group: str) -> list[object]:
    """Return what is left of a daemon: processes, mounts, control groups, files."""
    left = [*processes_of(directory), *processes_in(group), *mounts_of(directory), *groups_of(group)]
    return [*left, *([directory] if directory.exists() else [])]


def surroundings() -> frozenset[str]:
    """Return what a daemon could leave on the machine's network: bridges with wires in them, rules, forwarding."""
    bridges = (str(path) for pattern in ("br-*", "br-*/brif/*") for path in Path("/sys/class/net").glob(pattern))
    saved = subprocess.run(("iptables-save",), capture_output=True, text=True, check=True).stdout
    rules = (line for line in saved.splitlines() if line.startswith("-A"))
    return frozenset((*bridges, *rules, f"forwarding {Path('/proc/sys/net/ipv4/ip_forward').read_text()}"))


def _killed(pids: Sequence[int]) -> Sequence[int]:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return pids


def processes_of(directory: Path) -> Iterator[int]:
    """Find the processes that name the directory in their command line: the daemon, containerd and its shims."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if any(word.startswith(f"{directory}/".encode()) for word in words):
                yield int(entry.name)


def processes_in(group: str) -> Iterator[int]:
    """Find the processes of the containers."""
    for found in groups_of(group):
        with suppress(OSError):
            yield from map(int, (found / "cgroup.procs").read_text().split())


def bridges_of(directory: Path) -> set[str]:
    """Find the names of the networks' bridges, in the daemon's own book of them."""
    try:
        book = (directory / "data" / "network" / "files" / "local-kv.db").read_bytes()
    except OSError:
        return set()
    return {name.decode() for name in re.findall(rb'"BridgeName":"(br-[0-9a-f]{12})"', book)}


def mounts_of(directory: Path) -> list[str]:
    """Find what is mounted below the directory, in the order of mounting."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [path for line in lines if (path := line.split()[4]).startswith(f"{directory}/")]


def groups_of(group: str) -> list[Path]:
    """Find the control groups of that name, the innermost first, in whatever hierarchies there are."""
    top = Path("/sys/fs/cgroup")
    found = [path for pattern in (group, f"*/{group}") for path in top.glob(pattern)]
    return sorted((path for each in found for path in (each, *each.rglob("*")) if path.is_dir()), reverse=True)
