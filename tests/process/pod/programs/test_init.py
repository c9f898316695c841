"""A plain init: what its command inherits, how it cannot start, and that it cannot outlive the launcher; all real."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.support.lives import MARK, NAMESPACE, Life, Lives, child, gone, need_namespace, shell
from tests.support.waiting import wait_until

BOTH = pytest.mark.parametrize("process_one", [False, True], ids=["below another", "process 1"])
# Two signals of glibc's own (32 and 33): its posix_spawn leaves them ignored, and each program takes them anew.
GLIBC = 0x180000000


@pytest.fixture
def lives() -> Iterator[Lives]:
    with Lives() as lives:
        yield lives


def ignoring(*signums: int) -> Callable[[], None]:
    def ignore() -> None:
        for signum in signums:
            signal.signal(signum, signal.SIG_IGN)

    return ignore


def blocking(*signums: int) -> Callable[[], None]:
    def block() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signums)

    return block


def told_to(life: Life) -> dict[str, str]:
    """Return what `inherited.sh` told, by its titles."""
    return dict(re.split(r"[:=]\s*", line, maxsplit=1) for line in life.rest() if re.search("[:=]", line))


SURROUNDINGS: Mapping[str, Mapping[str, object]] = {
    "plain": {},
    "an environment with nothing in it": {"whole_env": {"LAUNCHER_PEERS": "self"}},
    "odd values in the environment": {"env": {"A": "", "B": "a\nb\\ $(echo) `x` ;", "LC_CTYPE": "C.UTF-8"}},
    "not UTF-8": {"env": {"BYTES": os.fsdecode(b"\xff\xfe")}},
    "nohup": {"before": ["nohup"]},
    "in the background of a shell": {"preexec": ignoring(signal.SIGINT, signal.SIGQUIT)},
    "limits": {"before": ["prlimit", "--nofile=200:300", "--core=0"]},
    "nice": {"before": ["nice", "-n", "5"]},
    "another directory": {"before": ["env", "-C", "/usr/lib"], "env": {"PYTHONPATH": str(Path.cwd())}},
}


@pytest.mark.parametrize("surroundings", SURROUNDINGS.values(), ids=SURROUNDINGS)
@BOTH
def test_a_command_inherits_what_it_would_without_a_launcher(
    lives: Lives, surroundings: Mapping[str, object], process_one: bool
) -> None:
    """Environment, words, directory, ignored signals, limits and files: as if no launcher were there."""
    if process_one:
        need_namespace()
    command = (*child("inherited.sh"), "a b", "$HOME", "*", "--", "é")
    with_it = lives.start(*command, process_one=process_one, **surroundings)  # type: ignore[arg-type]
    without = lives.start(*command, process_one=process_one, launcher=(), **surroundings)  # type: ignore[arg-type]
    found, expected = ([_neutral(line) for line in life.rest()] for life in (with_it, without))
    assert with_it.end() == without.end() == 0, with_it.err()
    assert found == expected
    assert found[-1] == "end"


def _neutral(line: str) -> str:
    """Return a line without what differs between any two processes."""
    if line.startswith("SigIgn"):
        return f"SigIgn: {int(line.split()[1], 16) & ~GLIBC:x}"
    return re.sub(r"pipe:\[\d+\]|/proc/\d+/fd|/tmp/\S*/\d+$", "...", line)


@BOTH
def test_a_command_starts_with_no_signal_blocked_and_none_of_pythons_ignored(lives: Lives, process_one: bool) -> None:
    if process_one:
        need_namespace()

    def spoil() -> None:
        blocking(signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD)()
        ignoring(signal.SIGPIPE, signal.SIGXFSZ)()

    told = told_to(lives.start(*child("inherited.sh"), process_one=process_one, preexec=spoil))
    assert int(told["SigBlk"], 16) == int(told["SigIgn"], 16) & ~GLIBC == 0


@BOTH
def test_what_a_parent_ignores_stays_ignored(lives: Lives, process_one: bool) -> None:
    """A hangup reaches a command under nohup as little as it would without a launcher."""
    if process_one:
        need_namespace()
    life = lives.start(*shell("echo ready; read never; exit 3"), before=["nohup"], process_one=process_one)
    life.line()
    (process,) = life.below()
    life.send(signal.SIGHUP)
    life.send(signal.SIGUSR1)
    assert life.end() == 128 + signal.SIGUSR1
    assert gone(process.pid)


@BOTH
def test_a_parent_that_ignores_the_end_of_children_loses_no_exit_code(lives: Lives, process_one: bool) -> None:
    if process_one:
        need_namespace()
    life = lives.start(*shell("sleep 0; sleep 0; exit 9"), process_one=process_one, preexec=ignoring(signal.SIGCHLD))
    assert life.end() == 9


@BOTH
def test_inherited_files_are_the_commands_and_none_of_the_launchers(
    lives: Lives, process_one: bool, tmp_path: Path
) -> None:
    if process_one:
        need_namespace()
    with (tmp_path / "extra").open("w") as extra:
        at = extra.fileno()
        script = f"echo word > /proc/self/fd/{at}; ls -1 /proc/$$/fd"
        life = lives.start(*shell(script), process_one=process_one, pass_fds=[at])
    assert sorted(map(int, life.rest())) == [0, 1, 2, at]
    assert (tmp_path / "extra").read_text() == "word\n"


def test_standard_files_are_the_launchers_own(lives: Lives) -> None:
    """No pipe and no pump in between: not even when the reader is slow."""
    life = lives.start(*shell("readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2; echo to stderr >&2"))
    ours = [str(Path(f"/proc/{life.pid}/fd/{fd}").readlink()) for fd in (0, 1, 2)]
    assert life.rest() == ours
    assert life.end() == 0
    assert life.err() == "to stderr\n"


@BOTH
def test_closed_standard_files_stay_closed(lives: Lives, process_one: bool) -> None:
    if process_one:
        need_namespace()
    command = shell("ls /proc/$$/fd >&5; exit 6")
    close = ["/bin/sh", "-c", 'exec 5>&1 0<&- 1>&- 2>&-; exec "$@"', "sh"]
    life = lives.start(*command, process_one=process_one, before=close)
    without = lives.start(*command, before=close, launcher=())
    assert life.rest() == without.rest()
    assert life.end() == without.end() == 6


@BOTH
@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("no-such-program", "No such file or directory on PATH;"),
        ("/no/such/program", "No such file or directory; is it in the image"),
        ("{room}/text", "Permission denied"),
        ("{room}/format", "Exec format error"),
        ("{room}", "Permission denied"),
        ("{room}/text/below", "Not a directory"),
        ("", "No such file or directory"),
    ],
    ids=["not on the path", "not found", "not executable", "wrong format", "a directory", "below a file", "no name"],
)
def test_a_command_that_cannot_be_started_is_told_in_a_sentence_with_71(
    lives: Lives, tmp_path: Path, process_one: bool, what: str, words: str
) -> None:
    if process_one:
        need_namespace()
    (tmp_path / "text").write_text("no program\n")
    (tmp_path / "format").write_bytes(b"\x7fELF of no machine\n")
    (tmp_path / "format").chmod(0o755)
    program = what.format(room=tmp_path)
    life = lives.start(program, process_one=process_one)
    assert life.end() == 71
    first = life.err().splitlines()[0]
    assert first.startswith(f"start_paddle: cannot start {program!r}: {words}")
    assert "Traceback" not in life.err()
    assert life.rest() == []


def test_in_a_job_too_a_command_that_cannot_be_started_ends_with_71(lives: Lives) -> None:
    life = lives.start("no-such-program", env={"LAUNCHER_RUNTIME": "env", "POD_IP": "127.0.0.1"})
    assert life.end() == 71
    assert "cannot start 'no-such-program'" in life.err()
    assert "Traceback" not in life.err()


@pytest.mark.parametrize(
    "command", [child("deaf.py"), shell('trap "" TERM HUP INT; echo $$; read never')], ids=["deaf", "a shell"]
)
def test_a_killed_launcher_takes_its_child_with_it(lives: Lives, command: Sequence[str]) -> None:
    life = lives.start(*command)
    (pid,) = life.numbers()
    assert not gone(pid)
    life.send(signal.SIGKILL)
    assert life.end() == -signal.SIGKILL
    wait_until(lambda: gone(pid))


def test_a_killed_job_launcher_takes_its_child_with_it(lives: Lives) -> None:
    life = lives.start(*child("deaf.py"), env={"LAUNCHER_RUNTIME": "env", "POD_IP": "127.0.0.1"})
    (pid,) = life.numbers()
    life.send(signal.SIGKILL)
    wait_until(lambda: gone(pid))


def test_a_killed_process_1_takes_all_with_it(lives: Lives) -> None:
    """Children, grandchildren, orphans in sessions of their own: whatever was below it."""
    need_namespace()
    life = lives.start(*shell("setsid sleep 1000 & sleep 1000 & echo $$; exec sleep 1000"), process_one=True)
    life.line()
    wait_until(lambda: len(life.below()) == 3)
    below = [process.pid for process in life.below()]
    life.send(signal.SIGKILL)
    wait_until(lambda: gone(*below))


def test_process_1_that_ends_takes_what_left_its_group_with_it(lives: Lives) -> None:
    need_namespace()
    life = lives.start(*shell("setsid sleep 1000 & echo; read go; exit 4"), process_one=True)
    life.line()
    assert life.process.stdin
    life.process.stdin.close()
    assert life.end() == 4


def test_a_plain_init_needs_nothing_about_jobs_and_says_nothing_itself(lives: Lives) -> None:
    life = lives.start("echo", "hello", whole_env={"LAUNCHER_PEERS": "self", "PATH": os.environ["PATH"]})
    assert life.rest() == ["hello"]
    assert life.end() == 0
    assert life.err() == ""


def test_without_a_launcher_a_process_namespace_behaves_as_these_tests_assume() -> None:
    """A guard on the ground: a command's own code comes out of the namespace."""
    need_namespace()
    ended = subprocess.run([*NAMESPACE, *shell("exit 7")], env={MARK: "none"}, check=False)
    assert ended.returncode == 7
