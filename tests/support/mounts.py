"""Real mounts, where this machine lets a test make them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(kind: str, source: str, where: Path, options: str) -> Iterator[None]:
    """Mount something for as long as the body runs, or skip the test with what mount says."""
    argv = ["mount", *(["-t", kind] if kind else []), "-o", options, source, str(where)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot mount here: {done.stderr.splitlines()[0]}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(where)], check=True)
