"""The virtual environment with Paddle that these tests train in: made once a machine, outside the checkout.

python -m tests.real.install      makes it, unless it is there, and prints the path of its Python
"""

from __future__ import annotations

import configparser
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
SIZE = 1.5e9  # bytes that pip needs for a while; 590 MB stay
MINUTES = 15
# 2.6.2 has wheels for 3.8 to 3.12; the launcher itself may run on a newer one.
PYTHONS = ("python3.11", "python3.12", "python3.10", "python3.9", "python3.8")
MACHINES = ("x86_64", "aarch64")


class NotHere(Exception):
    """Paddle cannot be had on this machine, for a reason that a sentence tells."""


def pins() -> tuple[str, ...]:
    """Return what setup.cfg's extra `paddle` asks for."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    lines = config["options.extras_require"]["paddle"].splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def python() -> Path:
    """Return the Python that has Paddle, after it was installed if need be."""
    if platform.machine() not in MACHINES or sys.platform != "linux":
        raise NotHere(f"paddlepaddle 2.6.2 is for Linux on {' or '.join(MACHINES)}, this is {platform.machine()}")
    found, version = _interpreter()
    key = hashlib.sha256("\n".join((*pins(), version)).encode()).hexdigest()[:16]
    directory = _cache() / f"paddle-{key}"
    with _alone(directory):
        if not (directory / "ready").exists():
            _make(directory, found)
    return directory / "bin" / "python"


def _interpreter() -> tuple[str, str]:
    """Return a Python of a version that 2.6.2 has a wheel for, and which; one on PATH may be a shim for nothing."""
    own = [sys.executable] if (3, 8) <= sys.version_info[:2] <= (3, 12) else []
    asked = ("-c", "import sys, venv, ensurepip; print(*sys.version_info[:2])")
    for path in filter(None, map(shutil.which, (*own, *PYTHONS))):
        told = subprocess.run((path, *asked), capture_output=True, text=True, check=False)
        if told.returncode == 0:
            return path, told.stdout
    raise NotHere("paddlepaddle 2.6.2 needs Python 3.8 to 3.12 with its venv module, and none is on PATH")


def _make(directory: Path, interpreter: str) -> None:
    free = shutil.disk_usage(directory.parent).free
    if free < SIZE:
        raise NotHere(f"{directory.parent} has {free / 1e6:.0f} MB left, expected {SIZE / 1e6:.0f}: make room there")
    shutil.rmtree(directory, ignore_errors=True)
    pip = (str(directory / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    for words in ((interpreter, "-m", "venv", str(directory)), (*pip, *pins())):
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=60 * MINUTES, check=False)
        except subprocess.TimeoutExpired:
            raise NotHere(f"{' '.join(words[1:4])} did not end within {MINUTES} minutes") from None
        if done.returncode:
            said = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "nothing")
            raise NotHere(f"{' '.join(words[1:4])} ended with {done.returncode} and said: {said}")
    (directory / "ready").touch()


def _cache() -> Path:
    directory = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paddle-launcher"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Keep others out for as long as the body takes: what one makes the next one finds."""
    with directory.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        print(python())
    except NotHere as error:
        sys.exit(str(error))
