"""A base image where no registry answers: the smallest Debian, with Python and bash, made by debootstrap."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.grounds.docker.machine import NotHere, alone, cache, last_line, need, room

SUITE = "bookworm"
PACKAGES = ("bash", "ca-certificates", "python-is-python3", "python3", "python3-venv")
OLD = "bullseye", ("python3",)  # the oldest that is to be had, with a Python of its own
# What an image of a registry does not have either.
LEFT_OUT = (
    "var/cache/apt/archives",
    "var/lib/apt/lists",
    "var/log",
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
)


def base_tar(suite: str = SUITE, packages: Sequence[str] = PACKAGES) -> Path:
    """Return a Debian's file system as a tar; made once, in about a minute."""
    key = hashlib.sha256(repr((suite, packages, LEFT_OUT)).encode()).hexdigest()[:16]
    tar = cache() / f"base-{key}.tar"
    with alone("base"):
        if not tar.exists():
            need(debootstrap="debootstrap", tar="tar")
            room(cache(), 1e9)
            _make(tar, suite, packages)
    return tar


def old_tar() -> Path:
    """Return the oldest Debian's file system as a tar, made as the base is."""
    return base_tar(*OLD)


def bases() -> Path:
    """Make both, and return the newer one."""
    old_tar()
    return base_tar()


def _make(tar: Path, suite: str, packages: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="base-", dir=cache()) as scratch:
        root, part = Path(scratch, "root"), Path(scratch, "part")
        include = [f"--include={','.join(packages)}"] if packages else []
        _do("debootstrap", "--variant=minbase", *include, suite, str(root), *_mirror(suite))
        for path in LEFT_OUT:
            shutil.rmtree(root / path, ignore_errors=True)
            (root / path).mkdir(parents=True)
        _do("tar", "--numeric-owner", "-C", str(root), "-cf", str(part), ".")
        part.rename(tar)


def _mirror(suite: str) -> tuple[str, ...]:
    """Return where this machine has its own packages from, which is where those of other suites are, too.

    Without an answer debootstrap knows one itself.
    """
    words = ("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages")
    for codename in (suite, SUITE):
        asked = (*words, f"Codename: {codename}")
        done = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=False)
        if found := done.stdout.split()[:1]:
            return tuple(found)
    return ()


def _do(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise NotHere(f"{words[0]} ended with {done.returncode}: {last_line(done.stderr or done.stdout)}")


if __name__ == "__main__":
    old_tar()
