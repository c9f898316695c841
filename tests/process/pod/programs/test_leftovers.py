"""What lives below a job's launcher beside its programs: the entrypoint's helpers, and what programs left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lives import Lives, gone
from tests.support.talking import Job, events

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
