"""What a ground could leave on a machine, as it is now: taken before and after, nothing may be new.

A Docker and other tests that work beside it come and go as they like: what is theirs is left out.
"""

from __future__ import annotations

import re
from pathlib import Path

import psutil

from tests.grounds.cluster import cgroups
from tests.grounds.cluster.machine import TUNABLES, run

OURS = re.compile(r"/run/ground|-namespace k8s\.io|^nsenter .*--uts|^catatonit |^unshare .* catatonit")
OTHERS = re.compile(r"docker|DOCKER|\bbr-[0-9a-f]{12}\b|\bveth|/pytest-of-")
OWN_KINDS = ("cgroup", "file", "process", "tunable")
MARKS = re.compile(
    r"ground|172\.31\.255\.|10\.244\.|10\.96\.|paddle-launcher|cni|CNI-|KUBE-|kubelet|/run/containerd|io\.containerd"
)
FORWARDING = "net/ipv4/ip_forward"
# What parts of Kubernetes make on a machine that is theirs alone.
FILES = (
    "/opt/containerd", "/run/ground", "/run/kubernetes", "/usr/libexec/kubernetes", "/var/lib/cni", "/var/lib/etcd",
    "/var/lib/kubelet", "/var/log/containers", "/var/log/pods",
)  # fmt: skip


def footprint() -> frozenset[tuple[str, str]]:
    """Return processes, mounts, devices, addresses, routes, firewall rules, cgroups, tunables and files, as lines."""
    kinds = {
        "process": [words for words in map(command, psutil.process_iter()) if OURS.search(words)],
        "mount": others(Path("/proc/self/mounts").read_text()),
        "device": others(run("ip", "-brief", "address")),
        "route": others(run("ip", "route", "show", "table", "all")),
        "rule": [line for line in others(run("iptables-save")) if line.startswith("-A")],
        "cgroup": [str(place) for place in cgroups.hierarchies() if (place / cgroups.TOP).exists()],
        "tunable": [f"{name} {Path('/proc/sys', name).read_text()}" for name in (*TUNABLES, FORWARDING)],
        "file": [name for name in FILES if Path(name).exists()],
    }
    return frozenset((kind, line) for kind, lines in kinds.items() for line in lines)


def traces() -> frozenset[tuple[str, str]]:
    """Return what of it can only be a ground's, on a machine that goes on with its own affairs meanwhile."""
    return frozenset((kind, line) for kind, line in footprint() if kind in OWN_KINDS or MARKS.search(line))


def command(process: psutil.Process) -> str:
    """Return a process's command, empty where it has ended meanwhile."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def others(text: str) -> list[str]:
    """Return the lines that are neither Docker's nor another test's."""
    return [line for line in text.splitlines() if not OTHERS.search(line)]
