"""A launcher and its children, all real: signals, the grace, exit codes, orphans, leftovers, stop and continue."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.lives import CHILDREN, STOPPED, Life, Lives, child, gone, need_namespace, shell, state
from tests.support.talking import events
from tests.support.waiting import wait_until

CATCHABLE = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD})
HALTING = [signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU]
TELLS = 2.0  # the grace in which a deaf child is to tell what it heard, also on a busy machine
JOB = {"LAUNCHER_RUNTIME": "env", "POD_IP": "127.0.0.1"}
BOTH = pytest.mark.parametrize("process_one", [False, True], ids=["below another", "process 1"])


@pytest.fixture(scope="module")
def world() -> Callable[[], Lives]:
    """Where these tests' launchers are: tests/process/docker/test_tables.py has others."""
    return Lives


@pytest.fixture
def lives(world: Callable[[], Lives]) -> Iterator[Lives]:
    with world() as lives:
        yield lives


@pytest.fixture(scope="module", params=[False, True], ids=["below another", "process 1"])
def listener(request: pytest.FixtureRequest, world: Callable[[], Lives]) -> Iterator[Life]:
    """One launcher whose child tells every signal: the next line is wrong where a signal came twice."""
    if request.param:
        need_namespace()
    with world() as lives:
        life = lives.start(*child("listener.py", 0, int(signal.SIGTERM)), process_one=request.param)
        assert life.line() == "ready"
        yield life
        life.send(signal.SIGTERM)
        assert life.rest() == ["15"]
        assert life.end() == 143


@pytest.mark.parametrize(
    "signum", [each for each in CATCHABLE if each != signal.SIGTERM], ids=lambda each: str(int(each))
)
def test_every_catchable_signal_is_passed_on_once(listener: Life, signum: int) -> None:
    listener.send(signum)
    assert listener.line() == str(int(signum))


def test_a_command_leads_a_group_of_its_own_in_the_launchers_session(lives: Lives) -> None:
    life = lives.start(*child("deaf.py"))
    (pid,) = life.numbers()
    assert os.getpgid(pid) == pid
    assert os.getsid(pid) == os.getsid(life.pid)


def test_a_jobs_child_leads_a_session_and_a_group_of_its_own(lives: Lives) -> None:
    life = lives.start(*child("deaf.py"), env={**JOB, "LAUNCHER_GRACE": "0.2"})
    (pid,) = life.numbers()
    assert os.getsid(pid) == os.getpgid(pid) == pid != os.getsid(life.pid)


@BOTH
def test_term_goes_once_to_the_whole_group_and_kill_after_the_grace(lives: Lives, process_one: bool) -> None:
    if process_one:
        need_namespace()
    life = lives.start(*child("family.py"), process_one=process_one, env={"LAUNCHER_GRACE": str(TELLS)})
    assert {life.line().split()[0], life.line().split()[0]} == {"parent", "child"}
    family = [process.pid for process in life.below()]
    begun = time.monotonic()
    life.send(signal.SIGTERM)
    assert {life.line(), life.line()} == {"parent told 15", "child told 15"}
    life.send(signal.SIGTERM)
    life.send(signal.SIGTERM)
    assert life.end() == 143
    assert time.monotonic() - begun >= TELLS
    assert life.rest() == []
    assert gone(*family)


def test_a_grace_that_is_not_needed_is_not_waited_for(lives: Lives) -> None:
    life = lives.start(*child("listener.py", 0), env={"LAUNCHER_GRACE": "20"})
    assert life.line() == "ready"
    life.send(signal.SIGTERM)
    assert life.end() == 143


@pytest.mark.parametrize("code", [0, 5, 143])
def test_a_launcher_told_to_stop_ends_with_143_whatever_its_child_makes_of_it(lives: Lives, code: int) -> None:
    life = lives.start(*child("listener.py", code))
    assert life.line() == "ready"
    life.send(signal.SIGTERM)
    assert life.end() == 143


def test_a_jobs_stopped_child_hears_the_term(lives: Lives) -> None:
    life = lives.start(*child("listener.py", 0), env=JOB)
    assert life.line() == "ready"
    (process,) = life.programs()
    os.kill(process.pid, signal.SIGSTOP)
    wait_until(lambda: state(process.pid) == STOPPED)
    life.send(signal.SIGTERM)
    assert life.end() == 143


@BOTH
def test_a_stopped_command_hears_the_term_when_it_is_continued(lives: Lives, process_one: bool) -> None:
    """As without a launcher: a CONT is the affair of those who stopped it."""
    if process_one:
        need_namespace()
    life = lives.start(*child("listener.py", 0), process_one=process_one, env={"LAUNCHER_GRACE": "20"})
    assert life.line() == "ready"
    (process,) = life.below()
    os.kill(process.pid, signal.SIGSTOP)
    wait_until(lambda: state(process.pid) == STOPPED)
    life.send(signal.SIGTERM)
    wait_until(lambda: _pending(process.pid, signal.SIGTERM))
    assert state(process.pid) == STOPPED
    life.send(signal.SIGCONT)
    assert life.end() == 143
    assert "15" in life.rest()


def _pending(pid: int, signum: int) -> bool:
    """Return whether a signal was sent to a process that has not taken it yet."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return any(int(line.split()[1], 16) >> (signum - 1) & 1 for line in lines if line.startswith("ShdPnd"))


def test_an_interrupt_is_the_childs_own_affair_in_a_plain_init(lives: Lives) -> None:
    life = lives.start(*child("listener.py", 3))
    assert life.line() == "ready"
    life.send(signal.SIGINT)
    assert life.end() == 3


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_in_a_job_both_term_and_interrupt_are_a_stop(lives: Lives, signum: int, code: int) -> None:
    life = lives.start(*child("listener.py", 0), env={"LAUNCHER_RUNTIME": "env", "POD_IP": "127.0.0.1"})
    assert life.line() == "ready"
    life.send(signum)
    assert set(life.rest()) <= {"15", "18"}, (
        "the children are told to end by SIGTERM, whatever the launcher was told by"
    )
    assert life.end() == code


def test_the_first_word_to_stop_is_the_one_that_counts(lives: Lives) -> None:
    life = lives.start(*child("listener.py", 0, int(signal.SIGUSR1)), env={**JOB, "LAUNCHER_GRACE": "20"})
    assert life.line() == "ready"
    life.send(signal.SIGTERM)
    assert life.line() in ("15", "18")
    life.send(signal.SIGINT)
    life.send(signal.SIGUSR1)
    assert life.end() == 143


def test_in_a_job_the_other_signals_are_passed_on(lives: Lives) -> None:
    life = lives.start(*child("listener.py", 0), env={"LAUNCHER_RUNTIME": "env", "POD_IP": "127.0.0.1"})
    assert life.line() == "ready"
    for signum in (signal.SIGHUP, signal.SIGUSR1, signal.SIGQUIT, signal.SIGRTMIN + 3):
        life.send(signum)
        assert life.line() == str(int(signum))
    life.send(signal.SIGTERM)
    assert life.end() == 143


@BOTH
def test_a_childs_exit_code_and_its_death_by_a_signal_come_out(lives: Lives, process_one: bool) -> None:
    if process_one:
        need_namespace()
    ends = {("exit", code): code for code in (0, 1, 2, 69, 70, 71, 76, 78, 126, 127, 128, 137, 143, 255)}
    deaths = {("death", signum): 128 + signum for signum in (1, 2, 3, 6, 8, 9, 11, 13, 14, 15, 25, 34, 64)}
    expected = ends | deaths
    started = {how: lives.start(*child("ender.py", *how), process_one=process_one) for how in expected}
    assert {how: life.end(20) for how, life in started.items()} == expected


@pytest.fixture
def codes() -> tuple[str, ...]:
    """The words that supervise ends of every kind."""
    return (sys.executable, str(CHILDREN / "codes.py"))


def test_each_exit_code_and_each_death_by_a_signal_comes_out_of_supervision(codes: tuple[str, ...]) -> None:
    """All 256 codes and every deadly signal, by supervision alone: a launcher for each would cost half a minute."""
    told = subprocess.run(codes, capture_output=True, text=True, check=True)
    found = {(what, int(given)): int(came) for what, given, came in map(str.split, told.stdout.splitlines())}
    assert {code for (what, code) in found if what == "exit"} == set(range(256))
    assert len(found) > 256 + 40
    assert found == {(what, given): given if what == "exit" else 128 + given for what, given in found}


@BOTH
def test_2000_orphans_that_end_at_once_are_reaped(lives: Lives, process_one: bool) -> None:
    if process_one:
        need_namespace()
    life = lives.start(*child("orphans.py", 2000), process_one=process_one)
    main = _orphanage(life)
    wait_until(lambda: len(psutil.Process(life.pid).children()) == 2001)
    main.send_signal(signal.SIGUSR1)
    assert life.line(30) == "all ended"
    wait_until(lambda: psutil.Process(life.pid).children() == [main], timeout=20)
    main.send_signal(signal.SIGUSR1)
    assert life.end() == 0


@BOTH
def test_the_childs_exit_code_is_not_lost_among_orphans_that_end_with_it(lives: Lives, process_one: bool) -> None:
    if process_one:
        need_namespace()
    life = lives.start(*child("orphans.py", 500, 37), process_one=process_one)
    _orphanage(life).send_signal(signal.SIGUSR1)
    assert life.end(20) == 37


def _orphanage(life: Life) -> psutil.Process:
    """Return the launcher's child once it has all its orphans."""
    assert life.line() == "here"
    (main,) = life.below()
    main.send_signal(signal.SIGUSR1)
    assert life.line(30) == "ready"
    return main


@BOTH
@pytest.mark.parametrize("code", [0, 8])
def test_what_a_command_leaves_behind_neither_holds_the_end_nor_stays_and_is_named(
    lives: Lives, process_one: bool, code: int
) -> None:
    """It is deaf to TERM, so that it is killed in the end."""
    if process_one:
        need_namespace()
    life = lives.start(*child("leaver.py", code), process_one=process_one, env={"LAUNCHER_GRACE": "20"})
    assert life.line()
    assert life.end() == code
    assert life.rest() == [], "the one that held the output is gone"
    (told,) = events(life, "left_behind")
    assert [each["argv"] for each in told["processes"]] == [list(lives.words(child("leaver.py", code)))]


def test_what_a_command_leaves_behind_is_told_to_end_first(lives: Lives) -> None:
    left = "trap 'echo told; exit' TERM; echo up; while :; do sleep 0.02; done"
    life = lives.start(*shell(f"sh -c {shlex.quote(left)} sh --token=abc & read end; exit 4"))
    assert life.line() == "up"
    assert life.process.stdin
    life.process.stdin.close()
    assert life.line() == "told"
    assert life.end() == 4
    (told,) = events(life, "left_behind")
    assert ["sh", "-c", left, "sh", "--token=***"] in [each["argv"] for each in told["processes"]]


def test_a_grandchild_that_holds_the_pipe_does_not_hold_a_jobs_end(lives: Lives) -> None:
    env = {"LAUNCHER_RUNTIME": "env", "POD_IP": "127.0.0.1", "LAUNCHER_GRACE": "20", "LAUNCHER_MAX_RESTARTS": "0"}
    life = lives.start(*child("leaver.py", 8), env=env)
    (left,) = life.numbers()
    assert life.end() == 8
    assert gone(left)


TELLING = "trap 'echo awake' USR1; trap 'echo continued' CONT; echo ready; while :; do read word; done"
# A launcher below this is where a shell would have it: in a group of its own, with a parent that could continue it.
AS_A_JOB = (sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:], process_group=0)")


@pytest.mark.parametrize("signum", HALTING, ids=lambda each: each.name)
def test_a_stop_signal_stops_the_command_and_then_the_launcher_until_both_are_continued(
    lives: Lives, signum: int
) -> None:
    life = lives.start(*shell(TELLING), before=AS_A_JOB)
    life.line()
    (launcher,) = psutil.Process(life.pid).children()
    (command,) = launcher.children()
    for _ in range(2):
        launcher.send_signal(signum)
        wait_until(lambda: state(launcher.pid) == state(command.pid) == STOPPED)
        launcher.send_signal(signal.SIGCONT)
        assert life.line() == "continued"
        launcher.send_signal(signal.SIGUSR1)
        assert life.line() == "awake", "it was continued once"
    launcher.send_signal(signal.SIGTERM)
    life.process.wait(10)


@pytest.mark.parametrize("signum", HALTING, ids=lambda each: each.name)
def test_a_jobs_children_are_stopped_with_it_until_they_are_continued(lives: Lives, signum: int) -> None:
    life = lives.start(*shell("echo ready; read never < /dev/zero"), env={**JOB, "LAUNCHER_GRACE": "0.2"})
    life.line()
    (process,) = life.programs()
    life.send(signum)
    wait_until(lambda: state(life.pid) == state(process.pid) == STOPPED)
    life.send(signal.SIGCONT)
    wait_until(lambda: STOPPED not in (state(life.pid), state(process.pid)))


@BOTH
def test_nothing_is_stopped_that_nobody_could_continue(lives: Lives, process_one: bool) -> None:
    """As without a launcher: the kernel stops no process 1, and none that has no shell above it."""
    if process_one:
        need_namespace()
    script = "trap 'echo awake' USR1; echo ready; while :; do read word; done"
    life = lives.start(*shell(script), process_one=process_one, env={"LAUNCHER_GRACE": "0.2"})
    assert life.line() == "ready"
    life.send(signal.SIGTSTP)
    for _ in range(2):  # the first may be taken before the one above, which has a higher number
        life.send(signal.SIGUSR1)
        assert life.line() == "awake"
    life.send(signal.SIGTERM)
    assert life.end() == 143


def test_a_child_that_handles_a_stop_signal_decides_for_itself(lives: Lives) -> None:
    life = lives.start(*child("listener.py", 0))
    assert life.line() == "ready"
    (process,) = life.below()
    life.send(signal.SIGTSTP)
    assert life.line() == str(int(signal.SIGTSTP))
    life.send(signal.SIGUSR1)
    assert life.line() == str(int(signal.SIGUSR1))
    assert STOPPED not in (state(life.pid), state(process.pid))


def test_a_launcher_that_was_stopped_itself_goes_on_where_it_was(lives: Lives) -> None:
    life = lives.start(*child("listener.py", 4))
    assert life.line() == "ready"
    life.send(signal.SIGSTOP)
    wait_until(lambda: state(life.pid) == STOPPED)
    life.send(signal.SIGUSR2)
    life.send(signal.SIGCONT)
    assert {life.line(), life.line()} == {str(int(signal.SIGUSR2)), str(int(signal.SIGCONT))}
    life.send(signal.SIGINT)
    assert life.line() == "2"
    assert life.end() == 4


def test_an_idle_launcher_sleeps(lives: Lives) -> None:
    """Nothing polls: over two seconds no thread of the launcher wakes up even once."""
    life = lives.start(*child("deaf.py"))
    life.line()
    wait_until(lambda: _switches(life.pid) and _asleep(life.pid))
    before, since = _switches(life.pid), time.monotonic()
    wait_until(lambda: time.monotonic() - since > 2, every=0.5)
    assert _switches(life.pid) == before


def _switches(pid: int) -> dict[str, list[str]]:
    """Return how often each thread of a process gave up, or lost, its processor."""
    return {
        thread.name: [line for line in (thread / "status").read_text().splitlines() if "voluntary_ctxt" in line]
        for thread in Path(f"/proc/{pid}/task").iterdir()
    }


def _asleep(pid: int) -> bool:
    """Return whether a process has used no processor time between two looks."""
    before = _switches(pid)
    until = time.monotonic() + 0.1
    wait_until(lambda: time.monotonic() > until)
    return before == _switches(pid)
