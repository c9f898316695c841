"""What the figures were measured on, without a name or a path of it."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def described() -> str:
    """Return cores, memory, system, kernel and Python, in one line."""
    words = (
        f"{len(os.sched_getaffinity(0))} cores",
        f"{_memory():.0f} GiB",
        platform.freedesktop_os_release().get("PRETTY_NAME", "Linux"),
        f"kernel {'.'.join(platform.release().split('.')[:2])}",
        f"Python {platform.python_version()}",
    )
    return ", ".join(words)


def busy() -> float:
    """Return how many processes were running or waiting for a core in the last minute."""
    return os.getloadavg()[0]


def _memory() -> float:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) / 2**20
    return 0.0
