"""The tools that a ground needs from the distribution, by package name."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.grounds.cluster.fault import NoGround

PLUGINS = Path("/usr/lib/cni")
BUSYBOX = Path("/bin/busybox")
CATATONIT = Path("/usr/bin/catatonit")
# What is looked for, and the Debian package that brings it.
WANTED = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables-save": "iptables",
    "catatonit": "catatonit",
    "ip": "iproute2",
    "sysctl": "procps",
    "nsenter": "util-linux",
    str(PLUGINS / "bridge"): "containernetworking-plugins",
    str(BUSYBOX): "busybox-static",
}


def missing() -> tuple[str, ...]:
    """Return the packages whose tools are not here."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return tuple(sorted({package for tool, package in WANTED.items() if not shutil.which(tool, path=path)}))


def install() -> None:
    """Install what is missing, with apt-get."""
    packages = missing()
    if not packages:
        return
    if os.geteuid() or not shutil.which("apt-get"):
        raise NoGround(f"missing: {' '.join(packages)}; install them (Debian's names), or run this as root on Debian")
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (("update",), ("install", "--yes", "--no-install-recommends", *packages)):
        done = subprocess.run(
            ("apt-get", "-qq", *words), env=environ, capture_output=True, text=True, timeout=600, check=False
        )
        if done.returncode:
            raise NoGround(f"`apt-get {' '.join(words)}` failed: {done.stderr.strip()[-1000:]}")


def check(*, user: Callable[[], int] = os.geteuid, look: Callable[[], tuple[str, ...]] = missing) -> None:
    """Say what keeps this machine from carrying a ground."""
    if user():
        raise NoGround(
            "the ground makes namespaces, mounts and network devices: run as root, or name a cluster with "
            "LAUNCHER_TEST_KUBECONFIG"
        )
    if packages := look():
        raise NoGround(f"missing: {' '.join(packages)}; say `python -m tests.grounds.cluster install`")
