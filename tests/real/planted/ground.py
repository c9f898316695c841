"""Where a planted fault's gang lives: on a small volume, beside a slow one, each pod with a limit to its memory."""

from __future__ import annotations

import os
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.lives import shell
from tests.support.waiting import wait_until
from tests.support.whole_volume import WholeVolume

CGROUPS = Path("/sys/fs/cgroup")
MIB = 1 << 20
VOLUME = 96  # MiB
SECONDS = 1.0  # for each write to the slow volume


class SlowVolume(WholeVolume):
    """Takes a second for each write, and forgets what was written."""

    def _write(self, node: int, said: bytes) -> bytes:
        del node
        time.sleep(SECONDS)
        return struct.pack("II", len(said) - 40, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The slow volume, and the words that lead a launcher into its pod's memory."""

    slow: Path
    enter: Sequence[str]


@contextmanager
def ground(top: Path, memory: int) -> Iterator[Ground]:
    """Lay it out below a directory, as root, and take all of it away again."""
    if os.geteuid():
        pytest.skip("volumes and memory limits of a test's own need root")
    with ExitStack() as stack:
        stack.enter_context(_small_volume(top / "volume"))
        stack.enter_context(_slow_volume(top / "slow"))
        pods = stack.enter_context(_memory(memory))
        yield Ground(slow=top / "slow", enter=shell(_ENTER, pods, _LIMIT, str(memory * MIB)))


# Each pod has a directory of its own, by its address.
_ENTER = """
pod=$1/$POD_IP && mkdir "$pod" && echo "$3" >"$pod/$2" && echo $$ >"$pod/cgroup.procs" && shift 3 && exec "$@"
"""
_V1 = not (CGROUPS / "cgroup.controllers").exists()
_LIMIT = "memory.limit_in_bytes" if _V1 else "memory.max"


@contextmanager
def _memory(memory: int) -> Iterator[Path]:
    del memory
    pods = (CGROUPS / "memory" if _V1 else CGROUPS) / f"paddle-launcher-planted-{os.getpid()}"
    try:
        pods.mkdir()
    except OSError as error:
        pytest.skip(f"a memory cgroup cannot be made: {error}")
    try:
        if not _V1:
            (pods / "cgroup.subtree_control").write_text("+memory")
        yield pods
    finally:
        wait_until(lambda: all(map(_removed, (*pods.glob("*/"), pods))))


def _removed(place: Path) -> bool:
    with suppress(OSError):  # what has just ended is still leaving it
        place.rmdir()
    return not place.exists()


@contextmanager
def _small_volume(where: Path) -> Iterator[None]:
    where.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={VOLUME}m", "none", str(where)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(where)], check=True)


@contextmanager
def _slow_volume(where: Path) -> Iterator[None]:
    where.mkdir(parents=True)
    try:
        volume = SlowVolume(where)
    except OSError as error:
        pytest.skip(f"cannot mount a FUSE file system here: {os.strerror(error.errno or 0)}")
    try:
        yield
    finally:
        volume.close()
