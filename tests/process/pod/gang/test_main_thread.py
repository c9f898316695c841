"""The main thread waits for no volume: it makes no system call that names one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.gangs import Fault, Gang, gang
from tests.support.outcomes import is_done
from tests.support.pods import JOB
from tests.support.volume import lay_out
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(90)


@contextmanager
def traced(g: Gang, place: int, out: Path) -> Iterator[None]:
    """Write every call of a launcher's main thread that names a file or uses a descriptor."""
    pid = g.launcher(place).life.process.pid
    # Without -f one thread is traced, the one with this number; -y names what a descriptor leads to.
    argv = ["strace", "-qq", "-y", "-e", "trace=%file,%desc", "-o", str(out), "-p", str(pid)]
    tracer = subprocess.Popen(argv, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: f"TracerPid:\t{tracer.pid}" in Path(f"/proc/{pid}/status").read_text())
        yield
    finally:
        tracer.terminate()
        tracer.communicate()


def test_from_the_roster_to_the_verdict_the_main_thread_touches_nothing_on_the_volume(tmp_path: Path) -> None:
    """It stages, reads passes, keeps the record and writes logs on other threads."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    out = tmp_path.parent / f"{tmp_path.name}.strace"
    held = Fault("pass 1", "wait", times=0, generation=1)
    with gang(2, tmp_path, faults=[held, Fault("pass 1", "exit 7", rank=1, generation=1)], start=False) as g:
        lay_out(g.volume / JOB, {f"{rank}/data/part": "x" for rank in range(2)})
        g.start(0)
        g.wait(lambda: g.launcher(0).events("waiting_for_peers") or g.launcher(0).phase)
        with traced(g, 0, out):
            g.start(1)
            g.await_trace("fault", 2, do="wait")
            g.go()
            is_done(g)
    calls = out.read_text().splitlines()
    assert any("/proc/" in call for call in calls), "what is traced is the main thread at work"
    assert [call for call in calls if str(g.volume) in call] == []
