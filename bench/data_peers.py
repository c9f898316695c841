"""The tools that data is measured against, and how each is timed."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from bench.lives import MINUTES
from bench.processes import Unheard
from bench.rows import Row

MEGABYTE = 1 << 20


def timed(argv: Sequence[str], out: Path, *, fresh: bool = False) -> float:
    """Run a program that makes a directory, and return its seconds."""
    if fresh:
        out.mkdir()
    os.sync()
    begun = time.monotonic()
    subprocess.run(argv, check=True, stderr=subprocess.DEVNULL)
    took = time.monotonic() - begun
    shutil.rmtree(out)
    return took


def piped(argv: Sequence[str]) -> float:
    """Run a program, read all that it writes, and return its seconds."""
    begun = time.monotonic()
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        output = process.stdout or io.BytesIO()
        while output.read(MEGABYTE):
            pass
    if process.returncode:
        raise Unheard(f"{argv[0]} ended with {process.returncode}")
    return time.monotonic() - begun


@cache
def rsync() -> str | None:
    """Return where rsync is, installing it where it is missing and may be."""
    argv = ("apt-get", "-qq", "install", "--yes", "--no-install-recommends", "rsync")
    if not shutil.which("rsync") and shutil.which("apt-get"):
        subprocess.run(argv, capture_output=True, check=False, timeout=MINUTES)
    return shutil.which("rsync")


def row(what: str, unit: str, *, goal: float | None = None, note: str = "") -> Row:
    """Return a row that waits for its figures."""
    return Row(what=what, unit=unit, ours=None, against="", goal=goal, more=unit == "MB/s", note=note)
