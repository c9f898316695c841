"""A plain init on a terminal: an interactive shell, a pseudo-terminal and a command, as if no launcher were there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import pytest

from tests.support.lives import LAUNCHER, NAMESPACE, STOPPED, Lives, child, gone, need_namespace, state
from tests.support.waiting import wait_until

CTRL_C, CTRL_Z, CTRL_BACKSLASH = "\x03", "\x1a", "\x1c"
PROMPT = re.compile(r"\[(\d+)\]> ")
BASH = ("bash", "--norc", "--noprofile", "--noediting", "-i")

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash to have job control from")


class Terminal:
    """A pseudo-terminal with a program as its session's leader, and somebody who types and looks."""

    def __init__(self, argv: Sequence[str], env: dict[str, str], before: Sequence[str] = ()) -> None:
        """Start the program, in the place that `before` makes."""
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [*before, "setsid", "--ctty", *argv],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**env, "PS1": "[$?]> ", "TERM": "dumb", "L": shlex.join([*LAUNCHER, "--"])},
        )
        os.close(theirs)
        self._shown = ""

    def keys(self, text: str) -> None:
        """Type something, with no newline added."""
        os.write(self._ours, text.encode())

    def see(self, expected: str | re.Pattern[str], timeout: float = 10) -> re.Match[str]:
        """Read on until something is shown, and forget all before it."""
        pattern = re.compile(re.escape(expected)) if isinstance(expected, str) else expected
        until = time.monotonic() + timeout
        while not (match := pattern.search(self._shown)):
            ready, _, _ = select.select([self._ours], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"no {pattern.pattern!r} within {timeout:g} s, only {self._shown!r}"
            self._shown += os.read(self._ours, 65536).decode(errors="replace")
        self._shown = self._shown[match.end() :]
        return match

    def prompt(self) -> int:
        """Wait for the shell's prompt and return the last command's exit code, which it shows."""
        return int(self.see(PROMPT)[1])

    def run(self, command: Sequence[str], *, more: str = "") -> None:
        """Type a command below a launcher at the prompt."""
        self.prompt()
        self.keys(f"$L {shlex.join(command)}{more}\n")
        self.see("\n")

    def resize(self, rows: int, columns: int) -> None:
        """Change the window's size."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def foreground(self) -> int:
        """Return the process group that has the terminal."""
        return os.tcgetpgrp(self._ours)

    def below(self, what: str) -> psutil.Process:
        """Return the process below the terminal's program, the last one, that has this word in its command line."""
        (found,) = wait_until(lambda: self._find(what)[-1:])
        return found

    def launcher(self) -> psutil.Process:
        """Return the launcher."""
        return self.below("launcher.pod")

    def _find(self, what: str) -> list[psutil.Process]:
        return [each for each in self._below() if any(what in word for word in _words(each))]

    def _below(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def hang_up(self) -> None:
        """Close the window."""
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Close the window and see the program off."""
        below = self._below() if error else []
        self.hang_up()
        for each in below:
            each.kill()
        if error:
            self.process.kill()
        self.process.wait(10)


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.fixture
def lives() -> Iterator[Lives]:
    with Lives() as lives:
        yield lives


@pytest.fixture
def shell(lives: Lives) -> Iterator[Terminal]:
    """An interactive shell with job control on a terminal of its own."""
    with Terminal(BASH, lives.environment({"LAUNCHER_GRACE": "2"})) as terminal:
        yield terminal


def test_ctrl_c_reaches_the_command_once_and_the_command_decides(shell: Terminal) -> None:
    shell.run(child("listener.py"))
    shell.see("ready")
    shell.keys(CTRL_C)
    shell.see("2\r\n")
    shell.keys(CTRL_BACKSLASH)
    assert shell.see(re.compile(r"[\d\r\n]*?3\r\n"))[0].split() == ["3"], (
        "had the first come twice, a 2 would be here"
    )
    os.kill(shell.launcher().pid, signal.SIGTERM)
    assert shell.prompt() == 143


@pytest.mark.parametrize(("key", "code"), [(CTRL_C, 130), (CTRL_BACKSLASH, 131)], ids=["Ctrl-C", "Ctrl-Backslash"])
def test_a_command_that_does_not_care_is_ended_by_the_key(shell: Terminal, key: str, code: int) -> None:
    shell.prompt()
    shell.keys("ulimit -c 0\n")
    shell.run(["sh", "-c", "echo read''y; sleep 1000"])
    shell.see("ready")
    launcher = shell.launcher()
    wait_until(lambda: [_words(each)[0] for each in launcher.children(recursive=True)] == ["sh", "sleep"])
    shell.keys(key)
    assert shell.prompt() == code


def test_ctrl_z_stops_both_and_fg_continues_both(shell: Terminal) -> None:
    shell.run(["sh", "-c", "echo read''y; read word; echo got: $word; exit 5"])
    shell.see("ready")
    launcher = shell.launcher()
    (command,) = launcher.children()
    for _ in range(3):
        shell.keys(CTRL_Z)
        shell.see("Stopped")
        assert shell.prompt() == 128 + signal.SIGTSTP
        assert state(launcher.pid) == state(command.pid) == STOPPED
        shell.keys("echo and the shell reads: $((1 + 1))\n")
        shell.see("reads: 2")
        shell.prompt()
        shell.keys("fg\n")
        wait_until(lambda: shell.foreground() == os.getpgid(command.pid))
        wait_until(lambda: state(command.pid) == state(launcher.pid) == "S")
    shell.keys("a word\n")
    shell.see("got: a word")
    assert shell.prompt() == 5


def test_bg_leaves_the_command_in_the_background_where_it_may_not_read(shell: Terminal) -> None:
    shell.run(["sh", "-c", "echo read''y; read word; echo got: $word"])
    shell.see("ready")
    launcher = shell.launcher()
    (command,) = launcher.children()
    shell.keys(CTRL_Z)
    shell.see("Stopped")
    shell.prompt()
    shell.keys("bg\n")
    shell.prompt()
    assert shell.foreground() == shell.process.pid
    wait_until(
        lambda: state(command.pid) == state(launcher.pid) == STOPPED
    )  # it went on to read, as bg says it may not
    # The shell hears of it once the launcher's last thread has stopped: until then `fg` would continue nothing.
    shell.keys("until jobs | grep -q Stopped; do sleep 0.02; done; echo a''gain\n")
    shell.see("again\r\n")
    shell.keys("fg\n")
    wait_until(lambda: shell.foreground() == os.getpgid(command.pid))
    shell.keys("now\n")
    shell.see("got: now")
    assert shell.prompt() == 0


def test_the_command_gets_what_was_sent_and_nothing_else(shell: Terminal) -> None:
    """Not even a CONT when it starts, or with a TERM."""
    shell.run(child("listener.py", 0, int(signal.SIGTERM)))
    shell.see("ready\r\n")
    shell.keys(CTRL_C)
    assert shell.see(re.compile(r".*?2\r\n", re.DOTALL))[0] == "^C2\r\n"
    shell.launcher().send_signal(signal.SIGTERM)
    assert shell.see(re.compile(r"(.*?)\[143\]> ", re.DOTALL))[1].split() == ["15"]


def test_fg_continues_the_command_once(shell: Terminal) -> None:
    shell.run(
        ["sh", "-c", "trap 'echo continued' CONT; echo read''y; while :; do read word && echo got: $word; done"]
    )
    shell.see("ready")
    for _ in range(3):
        shell.keys(CTRL_Z)
        shell.see("Stopped")
        shell.prompt()
        shell.keys("fg\n")
        shell.see("continued\r\n")
        shell.keys("word\n")
        assert "continued" not in shell.see(re.compile(".*?got: word", re.DOTALL))[0]
    shell.launcher().send_signal(signal.SIGTERM)


def test_fg_gives_the_terminal_to_a_command_that_went_on_in_the_background(shell: Terminal, tmp_path: Path) -> None:
    """The shell continues nothing that runs, so that the command asks for the terminal before the launcher knows."""
    go = tmp_path / "go"
    script = f"echo read''y; until test -e {go}; do sleep 0.02; done; read word; echo got: $word"
    shell.run(["sh", "-c", script], more=" &")
    shell.prompt()
    shell.see("ready")
    shell.keys("fg\n")
    wait_until(lambda: shell.foreground() == os.getpgid(shell.launcher().pid))
    go.touch()
    shell.keys("a word\n")
    shell.see("got: a word")
    assert shell.prompt() == 0


def test_a_command_started_in_the_background_stays_there_and_works(shell: Terminal) -> None:
    shell.run(child("listener.py", 6), more=" &")
    shell.prompt()
    shell.see("ready")
    assert shell.foreground() == shell.process.pid
    shell.keys("kill -INT %1; wait %1\n")
    assert shell.prompt() == 6


def test_a_new_window_size_reaches_the_command(shell: Terminal) -> None:
    shell.run(child("listener.py", 0))
    shell.see("ready")
    shell.resize(30, 100)
    shell.see(f"{int(signal.SIGWINCH)}\r\n")
    shell.resize(31, 101)
    shell.see(f"{int(signal.SIGWINCH)}\r\n")
    shell.keys(CTRL_C)
    assert shell.prompt() == 0


def test_the_command_reads_from_the_terminal_and_the_shell_does_afterwards(shell: Terminal) -> None:
    for word in ("one", "two"):
        shell.run(["sh", "-c", "echo read''y; read word; echo got: $word"])
        shell.see("ready")
        shell.keys(f"{word}\n")
        shell.see(f"got: {word}")


def test_the_command_is_in_the_foreground_even_when_it_asks_at_once(shell: Terminal) -> None:
    shell.run(["sh", "-c", "read word; echo got: $word"])
    shell.keys("early\n")
    shell.see("got: early")
    assert shell.prompt() == 0


def test_a_shell_below_a_launcher_has_job_control(shell: Terminal) -> None:
    """The command may be an interactive shell itself, whose jobs stop without stopping it."""
    shell.run(BASH)
    shell.prompt()
    shell.keys("sleep 1000\n")
    wait_until(lambda: _words(shell.below("1000")) == ["sleep", "1000"])
    wait_until(lambda: shell.foreground() == shell.below("1000").pid)
    shell.keys(CTRL_Z)
    shell.see("Stopped")
    assert shell.prompt() == 128 + signal.SIGTSTP
    shell.keys("kill %1; fg\n")
    shell.prompt()
    shell.keys("exit 9\n")
    assert shell.prompt() == 9


def test_a_term_ends_a_stopped_command_once_it_is_continued(shell: Terminal) -> None:
    shell.run(child("listener.py", 0))
    shell.see("ready")
    shell.keys(CTRL_Z)
    shell.see("20\r\n")  # it handles the key, so it decides: nobody stops
    launcher = shell.launcher()
    launcher.children()[0].suspend()
    shell.see("Stopped")
    shell.prompt()
    launcher.send_signal(signal.SIGTERM)
    assert state(launcher.pid) == STOPPED
    shell.keys("fg\n")
    assert shell.prompt() == 143


@pytest.mark.parametrize("command", [child("deaf.py"), ("sleep", "1000")], ids=["deaf", "not deaf"])
def test_a_hangup_ends_the_launcher_and_its_command(shell: Terminal, command: Sequence[str]) -> None:
    """A command that ignores the hangup goes on, as it would without a launcher, until it is told by other means."""
    shell.run(command)
    launcher = shell.launcher()
    (running,) = wait_until(launcher.children)
    wait_until(lambda: command[-1] in running.cmdline() and shell.foreground() == running.pid)
    if "deaf.py" in command[-1]:
        shell.see(re.compile(r"\d+"))
        shell.hang_up()
        wait_until(lambda: gone(shell.process.pid))
        assert not gone(running.pid)
        launcher.send_signal(signal.SIGTERM)
    else:
        shell.hang_up()
    wait_until(lambda: gone(launcher.pid, running.pid))


def test_ctrl_z_stops_a_script_with_the_launcher_in_it(shell: Terminal) -> None:
    """The shell script above the launcher is of the same job, and stops with it."""
    shell.prompt()
    shell.keys("""sh -c "$L sh -c 'echo read\\"\\"y; read word; echo got: \\$word'; exit 7"\n""")
    shell.see("\n")
    shell.see("ready")
    shell.keys(CTRL_Z)
    shell.see("Stopped")
    assert shell.prompt() == 128 + signal.SIGTSTP
    shell.keys("fg\n")
    shell.see("\n")
    wait_until(lambda: shell.foreground() not in (shell.process.pid, os.getpgid(shell.launcher().pid)))
    shell.keys("word\n")
    shell.see("got: word")
    assert shell.prompt() == 7


def test_ctrl_z_stops_a_pipeline_with_the_launcher_in_it(shell: Terminal) -> None:
    shell.run(["sh", "-c", "echo read''y; read word"], more=" | cat")
    shell.see("ready")
    launcher = shell.launcher()
    shell.keys(CTRL_Z)
    shell.see("Stopped")
    shell.prompt()
    shell.keys("fg\n")
    wait_until(lambda: shell.foreground() not in (shell.process.pid, os.getpgid(launcher.pid)))
    shell.keys("word\n")
    assert shell.prompt() == 0


def test_a_command_with_another_standard_input_still_has_its_terminal(shell: Terminal) -> None:
    shell.run(["sh", "-c", "read word < /dev/tty; echo got: $word"], more=" < /dev/null")
    shell.keys("word\n")
    shell.see("got: word")
    assert shell.prompt() == 0


@pytest.mark.parametrize("process_one", [False, True], ids=["below a shell without jobs", "process 1"])
def test_without_a_shell_to_continue_it_ctrl_z_freezes_nothing(lives: Lives, process_one: bool) -> None:
    """As in a container with a terminal: the kernel stops no job that nobody could continue."""
    command = ["sh", "-c", "echo read''y; read word; echo got: $word; exit 5"]
    if process_one:
        need_namespace()
    shell = [] if process_one else ["sh", "-c", '"$@"; exit $?', "sh"]
    argv = [*shell, *LAUNCHER, "--", *command]
    with Terminal(argv, lives.environment(), NAMESPACE if process_one else ()) as terminal:
        terminal.see("ready")
        for _ in range(3):
            terminal.keys(CTRL_Z)
            terminal.see("^Z")
        terminal.launcher().send_signal(signal.SIGTSTP)
        terminal.keys("word\n")
        terminal.see("got: word")
        assert terminal.process.wait(10) == 5


def test_a_script_without_jobs_reads_from_the_terminal_after_its_launcher_ended(lives: Lives) -> None:
    script = ["sh", "-c", '"$@"; echo then; read word; echo got: $word', "sh"]
    with Terminal([*script, *LAUNCHER, "--", "true"], lives.environment()) as terminal:
        terminal.see("then")
        terminal.keys("word\n")
        terminal.see("got: word")
        assert terminal.process.wait(10) == 0


def test_as_process_1_ctrl_c_reaches_the_command_once(lives: Lives) -> None:
    need_namespace()
    with Terminal([*LAUNCHER, "--", *child("listener.py", 3)], lives.environment(), NAMESPACE) as terminal:
        terminal.see("ready")
        terminal.resize(30, 100)
        terminal.see(f"{int(signal.SIGWINCH)}\r\n")
        terminal.keys(CTRL_C)
        terminal.see("2\r\n")
        assert terminal.process.wait(10) == 3


def test_as_process_1_a_hangup_ends_all(lives: Lives) -> None:
    need_namespace()
    with Terminal([*LAUNCHER, "--", "sleep", "1000"], lives.environment(), NAMESPACE) as terminal:
        launcher = terminal.launcher()
        wait_until(lambda: terminal.below("1000"))
        wait_until(launcher.children)
        terminal.hang_up()
        wait_until(lambda: gone(launcher.pid))
