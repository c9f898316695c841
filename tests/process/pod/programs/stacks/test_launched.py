"""What a launcher gives its programs so that they can be asked: in a job, by its word; never as a plain init."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.pod.programs.launch import STACKABLE
from tests.support.lives import Life, Lives, gone
from tests.support.talking import Job
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(60)
TWO = 1 << 40 | 1 << 41
# What a program finds; without `site` no handler is its own.
TELL = """
import json
with open("/proc/self/status") as status:
    masks = {line[:6]: int(line.split()[1], 16) for line in status if line.startswith(("SigIgn", "SigCgt"))}
given = {name: os.environ.get(name) for name in ("PYTHONPATH", "LAUNCHER_FRAMES")}
say(json.dumps({"ignored": masks["SigIgn"], "caught": masks["SigCgt"], "path": sys.path, **given}).encode() + b"\\n")
"""


@pytest.fixture
def lives() -> Iterator[Lives]:
    with Lives() as them:
        yield them


@pytest.fixture
def job(lives: Lives, tmp_path: Path) -> Job:
    return Job(lives, tmp_path)


def found(life: Life) -> dict[str, object]:
    told: dict[str, object] = json.loads(life.line())
    assert life.end() == 0
    return told


def test_a_program_of_a_job_finds_the_directory_first_and_both_signals_ignored(job: Job) -> None:
    told = found(job.start(TELL, PYTHONPATH="/a:/b"))
    assert told["PYTHONPATH"] == f"{STACKABLE}:/a:/b"
    assert str(told["LAUNCHER_FRAMES"]).startswith("/proc/")
    assert int(str(told["ignored"])) & TWO == TWO


def test_without_a_path_of_its_own_it_is_the_only_one_and_behind_stands_what_is_importable(job: Job) -> None:
    assert found(job.start(TELL, PYTHONPATH=""))["PYTHONPATH"] == str(STACKABLE)
    behind = STACKABLE.parent / "importable"
    assert (
        found(job.start(TELL, LAUNCHER_IMPORTABLE="on", PYTHONPATH="/a"))["PYTHONPATH"] == f"{STACKABLE}:/a:{behind}"
    )


def test_off_prepares_nothing(job: Job) -> None:
    told = found(job.start(TELL, LAUNCHER_STACKS="off", PYTHONPATH="/a"))
    assert (told["PYTHONPATH"], told["LAUNCHER_FRAMES"]) == ("/a", None)
    assert int(str(told["ignored"])) & TWO == 0


def test_another_word_is_refused(job: Job) -> None:
    life = job.start("", LAUNCHER_STACKS="never")
    assert life.end() == 78
    assert "LAUNCHER_STACKS" in life.err()


def test_a_plain_init_gives_nothing(lives: Lives) -> None:
    life = lives.start(sys.executable, "-c", f"import os, sys\nsay = lambda it: os.write(1, it)\n{TELL}")
    told = json.loads(life.line())
    assert told["LAUNCHER_FRAMES"] is None
    assert int(told["ignored"]) & TWO == 0
    assert life.end() == 0


@pytest.mark.parametrize("signum", [41, 42])
def test_the_signal_does_nothing_to_a_launcher_nor_to_a_program_without_a_handler(job: Job, signum: int) -> None:
    life = job.start("say(b'ready\\n'); wait_for(sys.argv[1])", job.top / "go")
    life.line()
    [program] = [each for each in life.below() if "ready" in " ".join(each.cmdline())]
    for _ in range(100):
        os.kill(life.pid, signum)
    os.kill(program.pid, signum)
    (job.top / "go").touch()
    assert life.end() == 0


@pytest.mark.parametrize("signum", [41, 42])
def test_a_plain_init_passes_it_on_as_any_other(lives: Lives, signum: int) -> None:
    life = lives.start("sh", "-c", "echo ready; exec sleep 100")
    life.line()
    [command] = life.below()
    wait_until(lambda: command.name() == "sleep")
    os.kill(life.pid, signum)
    assert life.end() == 128 + signum
    assert gone(command.pid)


def test_a_program_may_be_a_launcher_again(job: Job) -> None:
    inner = "os.execv(sys.executable, [sys.executable, '-m', 'launcher.pod', '--', sys.executable, '-c', 'print(3)'])"
    life = job.start(f"os.environ['LAUNCHER_PEERS'] = 'self'\nos.environ.pop('LAUNCHER_RUNTIME')\n{inner}")
    assert life.line() == "3"
    assert life.end() == 0


def test_a_killed_launcher_leaves_no_file_behind(job: Job) -> None:
    """What was in memory is gone with the last who had it open."""
    life = job.start("say(b'ready\\n'); time.sleep(100)")
    life.line()
    programs = life.below()
    os.kill(life.pid, signal.SIGKILL)
    wait_until(lambda: gone(*(each.pid for each in programs)))
