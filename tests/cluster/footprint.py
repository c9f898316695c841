"""What of a ground is on this machine now: taken before and after, nothing may be new.

Everything is found by the ground's own names and addresses, for the machine goes on with its other affairs meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.grounds.cluster import cgroups, network
from tests.grounds.cluster.build import cache
from tests.grounds.cluster.machine import BIN, TUNABLES, run

PLACE = BIN.parent  # each machine of a ground has mounts below it, and what runs there sees them
OURS = re.compile(
    "|".join(
        re.escape(name)
        for name in (f"{PLACE}/", f"/{cgroups.TOP}/", f"{cache() / 'ground'}/", network.DEVICE, network.BRIDGE)
    )
)
ADDRESSES = re.compile(r"\b(172\.31\.255|10\.244|10\.96)\.")
# What kubelets and the pods' network would make on the machine itself, where a node's own /var/lib did not hide it.
FILES = (
    PLACE, cache() / "ground", Path("/var/lib/cni/networks/ground"), Path("/var/lib/kubelet/plugins-of-volumes"),
)  # fmt: skip


def footprint() -> frozenset[tuple[str, str]]:
    """Return a ground's processes, mounts, devices, routes, firewall rules, cgroups, tunables and files, as lines."""
    kinds = {
        "process": processes(),
        "mount": ours(Path("/proc/self/mounts").read_text()),
        "device": ours(run("ip", "-brief", "address")),
        "route": ours(run("ip", "route", "show", "table", "all")),
        "rule": ours(run("iptables-save")),
        "cgroup": [str(place) for place in cgroups.hierarchies() if (place / cgroups.TOP).exists()],
        "tunable": [name for name, value in TUNABLES.items() if Path("/proc/sys", name).read_text() == f"{value}\n"],
        "file": [str(path) for path in FILES if path.exists()],
    }
    return frozenset((kind, line) for kind, lines in kinds.items() for line in lines)


def processes() -> Iterator[str]:
    """Find what runs in a ground's machines, by their mounts, and in its pods, by their cgroup."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # ended meanwhile
            command = (process / "cmdline").read_text(errors="replace").replace("\0", " ")
            place = (process / "mountinfo").read_text() + (process / "cgroup").read_text()
            if command and OURS.search(place):
                yield f"{process.name} {command}"


def ours(text: str) -> list[str]:
    """Return the lines that bear the ground's names or addresses."""
    return [line for line in text.splitlines() if OURS.search(line) or ADDRESSES.search(line)]
