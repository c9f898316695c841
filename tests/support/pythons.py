"""The Pythons of this machine beside the tests' own, where there are any: programs may run in any of them."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path


@cache
def pythons() -> tuple[str, ...]:
    """Return the tests' own Python, and those that are installed beside it, each version once."""
    beside = sorted(Path(sys.base_prefix).parent.glob("*/bin/python"))
    found = {_version(str(path)): str(path) for path in beside}
    found.pop("", None)
    return tuple({**found, _version(sys.executable): sys.executable}.values())


def _version(python: str) -> str:
    """Return a Python's version as two numbers, nothing where it is none, or too old to have handlers at all."""
    asked = (python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
