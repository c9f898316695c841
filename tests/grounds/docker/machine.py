"""What the tests need of this machine: root, Debian's packages, and a place outside the checkout to keep things."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INSTALL = ("apt-get", "-o", "DPkg::Lock::Timeout=300", "-qq")


class NotHere(Exception):
    """Containers cannot be had on this machine, for a reason that a sentence tells."""


def need(**programs: str) -> None:
    """See that the programs are there, given as name=package; install the packages that are missing."""
    if os.geteuid() != 0:
        raise NotHere(
            "only root can start a Docker daemon: run the tests as root, as in a virtual machine of their own"
        )
    found = {name: shutil.which(name.replace("_", "-")) for name in programs}
    missing = sorted({programs[name] for name, path in found.items() if path is None})
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise NotHere(
            f"{' and '.join(missing)} are missing, and here is no apt-get: install them by this system's own means"
        )
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (("update",), ("install", "--yes", "--no-install-recommends", *missing)):
        done = subprocess.run((*INSTALL, *words), env=env, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            raise NotHere(f"apt-get {' '.join(words)} ended with {done.returncode}: {last_line(done.stderr)}")


def last_line(text: str) -> str:
    """Return the last line that says something."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "it said nothing")


def cache() -> Path:
    """Return the directory for what is slow to make and the same for every checkout."""
    directory = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paddle-launcher" / "docker"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def room(directory: Path, wanted: float) -> None:
    """See that a directory's disk has so many bytes left."""
    free = shutil.disk_usage(directory).free
    if free < wanted:
        raise NotHere(
            f"{directory} has {free / 1e6:.0f} MB left, expected {wanted / 1e6:.0f}: make room there, or name "
            "another place in XDG_CACHE_HOME"
        )


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Keep other test runs out for as long as the body takes: what one makes the next one finds."""
    with (cache() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
