"""A program that is in the kernel, with a volume that is slow or gives no answer, is asked as far as it can be."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launcher.pod.gang.protocol.messages import StackDigest
from launcher.pod.programs.launch import STACKABLE
from launcher.pod.programs.stacks.asking import take
from launcher.pod.programs.stacks.files import StackFiles
from launcher.pod.settings.nouns import Role
from tests.support.libraries import library_named
from tests.support.waiting import wait_until
from tests.support.whole_volume import WholeVolume, whole_volume

SLOW = 1.0
YOUNG = 0.15  # seconds, in which nothing is asked
IN_FUSE = "request_wait_answer"  # in the kernel: interruptible until a signal comes, and no more from then on
# It opens a file and writes to it for ever; a helper thread sleeps, or a library is loaded.
WRITES = """
import ctypes, os, sys, threading
if sys.argv[2:] == ["helped"]:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
elif sys.argv[2:]:
    ctypes.CDLL(sys.argv[2])
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
while True:
    os.write(file, bytes(4096))
"""
OPENS, FILLS = (
    f"sample.py:{at}" for at, line in enumerate(WRITES.splitlines(), 1) if "(file" in line or "open" in line
)


class SlowVolume(WholeVolume):
    """Takes a second for each write."""

    def _write(self, node: int, said: bytes) -> bytes:
        del node
        time.sleep(SLOW)
        return struct.pack("II", len(said) - 40, 0)


@contextmanager
def writing(top: Path, files: StackFiles, *flags: str) -> Iterator[int]:
    """Run a program that writes to the volume, and give its pid once it is in the kernel with that."""
    program = top / "sample.py"
    program.write_text(WRITES)
    environ = {**os.environ, "PYTHONPATH": str(STACKABLE), **files.environment(Role.TRAINER, 0)}
    words = (sys.executable, str(program), str(top / "volume" / "cache"), *flags)
    with subprocess.Popen(words, env=environ, start_new_session=True) as process:
        try:
            old = time.monotonic() + YOUNG
            wait_until(lambda: time.monotonic() > old and IN_FUSE in Path(f"/proc/{process.pid}/wchan").read_text())
            yield process.pid
        finally:
            process.kill()


def look(pid: int, files: StackFiles) -> StackDigest:
    (found,) = take([(Role.TRAINER, 0, pid)], files, set())
    return found.digest


def test_one_whose_disk_is_slow_answers_between_two_writes(tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    volume, files = SlowVolume(tmp_path / "volume"), StackFiles()
    try:
        with writing(tmp_path, files) as pid:
            found = look(pid, files)
    finally:
        volume.close()
    assert (found.where, found.state) == (FILLS, "")


def test_so_does_one_with_a_library_that_fails_at_an_interrupted_call(tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    library = library_named(tmp_path / "libxgboost.so")
    volume, files = SlowVolume(tmp_path / "volume"), StackFiles()
    try:
        with writing(tmp_path, files, str(library)) as pid:
            look(pid, files)  # it answers as one write ends and the next begins
            time.sleep(0.7 * SLOW)
            found = look(pid, files)
    finally:
        volume.close()
    assert (found.where, found.state) == (FILLS, "")


def test_for_one_that_never_comes_back_a_helper_that_sleeps_answers(tmp_path: Path) -> None:
    files = StackFiles()
    with whole_volume(tmp_path / "volume") as volume:
        (tmp_path / "volume" / "cache").touch()
        with volume.hanging(), writing(tmp_path, files, "helped") as pid:
            found = look(pid, files)
    assert (found.where, found.state) == (OPENS, "")


def test_one_that_never_comes_back_and_has_no_helper_is_told_to_be_in_the_kernel(tmp_path: Path) -> None:
    files = StackFiles()
    with whole_volume(tmp_path / "volume") as volume:
        (tmp_path / "volume" / "cache").touch()
        with volume.hanging(), writing(tmp_path, files) as pid:
            found = look(pid, files)
    assert found.state == "in the kernel"
