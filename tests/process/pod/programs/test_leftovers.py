"""What lives below a job's launcher beside its programs: the entrypoint's helpers, and what programs left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.lives import Life, Lives, gone
from tests.support.talking import Job, events
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(60)

# An entrypoint with three helpers: a child, a daemon, and a daemon whose parent ends once the file `on` is there.
ENTRYPOINT = """
sleep 1234 > /dev/null & echo $!
setsid sleep 1235 > /dev/null & echo $!
(setsid sleep 1236 & echo $!; until test -e "$0/on"; do sleep 0.02; done) & exec "$@"
"""
# Fails once, with the third helper an orphan by then; goes on until the file `end` is there.
TWICE = """
if os.path.exists("again"):
    say(b"again\\n")
    wait_for("end")
    sys.exit(0)
touch("again")
wait_for("late")
late = open("late").read()
touch("on")
while open(f"/proc/{late}/stat").read().rpartition(")")[2].split()[1] != str(os.getppid()):
    time.sleep(0.005)
sys.exit(3)
"""


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with Lives() as lives:
        yield Job(lives, tmp_path)


def test_helpers_that_the_entrypoint_started_outlive_the_programs(job: Job) -> None:
    work = job.top / "work"
    before = ("sh", "-c", ENTRYPOINT, str(work))
    life = job.start(TWICE, before=before, LAUNCHER_MAX_RESTARTS="1")
    helpers = [*life.numbers(), *life.numbers(), *life.numbers()]
    try:
        (work / "late.new").write_text(str(helpers[2]))
        (work / "late.new").rename(work / "late")
        assert life.line() == "again"
        assert not any(gone(each) for each in helpers)
        (work / "end").touch()
        assert life.end() == 0
        assert not any(gone(each) for each in helpers)
        assert events(life, "left_behind") == []
    finally:
        for each in helpers:
            os.kill(each, signal.SIGKILL)


LEAVES = """
import subprocess
words = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(1234)"]
ends = [subprocess.Popen([*words, "--password=hunter2"]), subprocess.Popen([*words, "away"], start_new_session=True)]
say(b"%d %d\\n" % tuple(each.pid for each in ends))
os._exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("code", [0, 3])
def test_what_a_program_left_behind_is_killed_and_named(job: Job, code: int) -> None:
    """Background work of a good trainer, as an upload, in its group or in a session of its own."""
    life = job.start(LEAVES, code)
    left = life.numbers()
    assert life.end() == code
    assert gone(*left)
    told = [each for event in events(life, "left_behind") for each in event["processes"]]
    assert [each["pid"] for each in told] == left
    assert [each["argv"][-1] for each in told] == ["--password=***", "away"]


# Root without this one right may not kill what runs as another user.
MAY_NOT_KILL = ("setpriv", "--bounding-set", "-kill", "--inh-caps", "-kill")
FOREIGN = """
if os.path.exists("again"):
    say(b"again\\n")
    sys.exit(0)
touch("again")
ready, tell = os.pipe()
if os.fork() == 0:
    if sys.argv[1] == "away":
        os.setsid()
    os.setresuid(65534, 65534, 65534)
    os.write(tell, b".")
    time.sleep(1234)
os.read(ready, 1)
sys.exit(3)
"""


def foreign(job: Job, where: str, rejoin: float = 60) -> tuple[Life, int]:
    """Start a job whose trainer leaves a process that the launcher may not kill; return that process too."""
    if os.geteuid() or subprocess.run([*MAY_NOT_KILL, "true"], check=False, capture_output=True).returncode:
        pytest.skip("a process that may not be killed needs root and setpriv: run as root")
    more: dict[str, Any] = {"LAUNCHER_MAX_RESTARTS": "1", "LAUNCHER_REJOIN_TIMEOUT": str(rejoin)}
    life = job.start(FOREIGN, where, before=MAY_NOT_KILL, **more)
    (told,) = wait_until(lambda: events(life, "still_running"))
    (left,) = told["processes"]
    assert left["argv"][-1] == where
    return life, left["pid"]


@pytest.mark.parametrize("where", ["in its group", "away"])
def test_no_generation_begins_beside_what_cannot_be_killed(job: Job, where: str) -> None:
    life, left = foreign(job, where)
    try:
        assert not gone(left)
        assert len(events(life, "generation_begins")) == 1
    finally:
        os.kill(left, signal.SIGKILL)
    assert life.line() == "again"
    assert life.end() == 0


def test_a_stop_ends_the_wait_for_what_cannot_be_killed(job: Job) -> None:
    life, left = foreign(job, "away")
    try:
        life.send(signal.SIGTERM)
        assert life.end() == 143
        assert f"waiting for the end of pid {left} (python" in events(life, "launcher_finished")[0]["reason"]
    finally:
        os.kill(left, signal.SIGKILL)


def test_what_cannot_be_killed_ends_the_gang_in_the_end(job: Job) -> None:
    life, left = foreign(job, "in its group", rejoin=4)
    try:
        assert life.end(20) == 76
        assert len(events(life, "generation_begins")) == 1
        assert "is ending its programs" in events(life, "launcher_finished")[0]["reason"]
    finally:
        os.kill(left, signal.SIGKILL)
