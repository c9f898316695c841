"""A C library of this machine under another's name, for those that look at what a process has loaded."""

from __future__ import annotations

import shutil
from pathlib import Path


def library_named(where: Path) -> Path:
    """Copy the C library's mathematics, which does nothing when it is loaded."""
    mapped = [line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libm.so" in line]
    return Path(shutil.copy((mapped or ["/lib/x86_64-linux-gnu/libm.so.6"])[0], where))
