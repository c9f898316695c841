"""Nothing outlives a killed launcher that is not process 1: what a program started goes with it, wherever it went."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from launcher.pod.programs import guardian
from tests.support.gangs import Fault, gang
from tests.support.lives import Life, Lives, gone, is_guardian, need_namespace, shell, state
from tests.support.script import WORKER
from tests.support.talking import events
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(90)

JOB = {"LAUNCHER_RUNTIME": "env", "POD_IP": "127.0.0.1", "LAUNCHER_GRACE": "5"}
BEHIND_A_SHELL = ("sh", "-c", '"$@"; exit $?', "sh", *WORKER)


@pytest.fixture
def lives() -> Iterator[Lives]:
    with Lives() as lives:
        yield lives


def guardians(life: Life) -> list[psutil.Process]:
    return [each for each in psutil.Process(life.pid).children() if is_guardian(each)]


def test_a_program_behind_a_shell_does_not_train_on_beside_the_next_generation(tmp_path: Path) -> None:
    held = [Fault("pass 1", "wait", times=0, generation=1)]
    env = {"LAUNCHER_RUNTIME": "env", "LAUNCHER_PEER_TIMEOUT": "5"}
    with gang(2, tmp_path, command=BEHIND_A_SHELL, faults=held, env=env, process_one=False) as g:
        g.await_trace("fault", 2)
        first = {start["pid"] for start in g.trace("start")}
        orphan = next(start["pid"] for start in g.trace("start") if start["address"] == g.address(1))
        assert psutil.Process(orphan).ppid() != g.launcher(1).life.pid, "there is a shell between the two"
        g.launcher(1).kill()
        wait_until(lambda: gone(orphan))
        g.go()
        g.again(1)
        assert g.codes() == [0, 0]
        second = [each["at"] for each in g.trace() if each["pid"] not in first]
        assert max(each["at"] for each in g.trace() if each["pid"] in first) < min(second)


def test_a_killed_launcher_leaves_nothing_of_its_session_nor_of_what_carries_its_word(lives: Lives) -> None:
    """In the session without the environment, in other sessions with it, in groups of their own."""
    group = "import os; os.setpgid(0, 0); os.execle('/bin/sleep', 'sleep', '1000', {})"
    script = "env -i sleep 1000 & $1 -c \"$2\" & setsid sh -c 'sleep 1000 & sleep 1000' & echo ready; wait"
    life = lives.start(*shell(script, sys.executable, group), env=JOB)
    assert life.line() == "ready"
    wait_until(lambda: sum("sleep" in each.name() for each in life.below()) == 4)
    below = [each.pid for each in life.below()]
    life.send(signal.SIGKILL)
    wait_until(lambda: gone(*below))


def test_a_launcher_whose_guardian_is_killed_ends_its_generation_and_gets_another(lives: Lives) -> None:
    life = lives.start(*shell("echo $$; exec sleep 1000"), env={**JOB, "LAUNCHER_MAX_RESTARTS": "1"})
    (first,) = life.numbers()
    (before,) = guardians(life)
    before.kill()
    (second,) = life.numbers()
    assert gone(first)
    assert "the launcher's guardian was killed" in events(life, "generation_ended")[0]["reason"]
    (after,) = guardians(life)
    assert after.pid != before.pid
    life.send(signal.SIGTERM)
    assert life.end() == 128 + signal.SIGTERM
    assert gone(second, after.pid)


def test_a_launcher_ends_what_one_before_it_left_whose_guardian_was_killed_too(lives: Lives) -> None:
    """And nothing of a launcher that is there."""
    script = shell("sleep 1234 & echo $!; wait")
    first, other = (lives.start(*script, env={**JOB, "POD_IP": f"127.0.0.{host}"}) for host in (1, 2))
    (orphan,), (spared,) = first.numbers(), other.numbers()
    (guard,) = guardians(first)
    first.send(signal.SIGSTOP)  # it is not to see that its guardian is gone
    guard.kill()
    wait_until(lambda: gone(guard.pid))
    first.send(signal.SIGKILL)
    first.end()
    assert state(orphan) == "S"
    second = lives.start(*shell("echo $$; exec sleep 1000"), env=JOB)
    second.numbers()
    assert gone(orphan)
    (told,) = wait_until(lambda: events(second, "left_behind"))
    assert {"pid": orphan, "argv": ["sleep", "1234"]} in told["processes"]
    assert state(spared) == "S"


def test_a_guardian_hears_no_signal_and_holds_nothing_of_its_launchers(lives: Lives, tmp_path: Path) -> None:
    with (tmp_path / "given").open("w") as given:
        life = lives.start(*shell("echo ready; exec sleep 1000"), env=JOB, pass_fds=[given.fileno()])
    assert life.line() == "ready"
    (guard,) = guardians(life)
    wait_until(lambda: guard.num_fds() == 3)
    assert Path(f"/proc/{guard.pid}/cwd").samefile(f"/proc/{guard.pid}/root")
    assert os.getsid(guard.pid) == guard.pid
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        guard.send_signal(signum)
    life.send(signal.SIGTERM)
    assert life.end() == 128 + signal.SIGTERM, "it was not found gone meanwhile"


@pytest.mark.parametrize("told", ["{0}\n-{0}\n", ""], ids=["a program that ended", "no program of this launcher"])
def test_a_guardian_spares_what_is_not_its_launchers(told: str) -> None:
    script = [sys.executable, "-I", "-S", guardian.__file__, "word"]
    environ = {**os.environ, guardian.VARIABLE: "words"}
    with subprocess.Popen(["sleep", "1000"], start_new_session=True, env=environ) as stranger:
        subprocess.run(script, input=told.format(stranger.pid).encode(), timeout=20, check=True)
        assert state(stranger.pid) == "S"
        stranger.kill()


def test_there_is_no_guardian_where_nothing_needs_one(lives: Lives) -> None:
    need_namespace()
    script = f"echo ${guardian.VARIABLE}- ready; exec sleep 1000"
    for life in (lives.start(*shell(script), env=JOB, process_one=True), lives.start(*shell(script))):
        assert life.line() == "- ready"
        assert len(life.below()) == 1
