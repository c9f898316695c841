"""Starts real launcher processes, reads what comes out of them, and sees to it that nothing of them is left."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import pytest

from tests.support.waiting import wait_until
from tests.support.whole_lines import whole_lines

CHILDREN = Path(__file__).parent / "children"
WITNESS = CHILDREN / "witness"  # in a program's PYTHONPATH: it notes that it runs
LAUNCHER = (sys.executable, "-m", "launcher.pod")
NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc")
MARK = "LIFE_OF_A_TEST"
STOPPED = "T"


def child(name: str, *arguments: object) -> tuple[str, ...]:
    """Return the command line of one of the cooperating programs in `children`."""
    path = str(CHILDREN / name)
    start = (sys.executable, "-I", "-S", path) if name.endswith(".py") else ("/bin/sh", path)
    return (*start, *map(str, arguments))


def shell(script: str, *arguments: object) -> tuple[str, ...]:
    """Return the command line of a shell script of one line."""
    return ("/bin/sh", "-c", script, "sh", *map(str, arguments))


@cache
def _refused() -> str:
    """Return why this user may not make a process namespace, or nothing."""
    if not shutil.which("unshare"):
        return "there is no unshare"
    tried = subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False)
    return tried.stderr.decode()


def need_namespace() -> None:
    """Skip a test where no process namespace can be made."""
    if why := _refused():
        pytest.skip(f"process 1 needs a process namespace, which was refused: {why.strip()}")


def state(pid: int) -> str:
    """Return a process's state as the kernel's letter, or nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def gone(*pids: int) -> bool:
    """Return whether all of these processes ended; one that nobody reaped has."""
    return all(state(pid) in ("", "Z") for pid in pids)


def is_guardian(process: psutil.Process) -> bool:
    """Return whether this is a launcher's guardian, by its script, which a launcher that was brought has compiled."""
    return any("/programs/guardian.py" in word for word in process.cmdline())


class Life:
    """One launcher process, with its standard output to be read and its standard error kept."""

    def __init__(self, process: subprocess.Popen[bytes], err: Path, *, process_one: bool) -> None:
        """Take a process that was just started; where it is process 1, `unshare` is above it."""
        self.process = process
        self._process_one = process_one
        self._err = err
        self._read = b""

    @cached_property
    def pid(self) -> int:
        """The launcher's process id, as it is out here; a process 1 must still be alive when first asked."""
        return wait_until(self._begun_child) if self._process_one else self.process.pid

    def _begun_child(self) -> int:
        child = _only_child(self.process.pid)
        if not child and self.process.poll() is not None:
            raise ProcessLookupError("the launcher has ended")
        return child

    def kill(self) -> None:
        """End it if it still runs."""
        if self.process.poll() is None:
            _kill((_only_child(self.process.pid) if self._process_one else 0) or self.process.pid)

    def send(self, signum: int) -> None:
        """Send a signal to the launcher."""
        os.kill(self.pid, signum)

    def line(self, timeout: float = 10) -> str:
        """Return the next line of the standard output, or what there is of it at its end."""
        assert self.process.stdout
        until = time.monotonic() + timeout
        while b"\n" not in self._read:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"no line within {timeout:g} s, only {self._read!r}; stderr: {self.err()}"
            block = os.read(self.process.stdout.fileno(), 65536)
            if not block:
                break
            self._read += block
        line, _, self._read = self._read.partition(b"\n")
        return os.fsdecode(line)

    def numbers(self) -> list[int]:
        """Return the numbers in the next line."""
        return [int(word) for word in self.line().split()]

    def rest(self) -> list[str]:
        """Return the lines that are still to come, until the end of the standard output."""
        lines = []
        while line := self.line():
            lines.append(line)
        return lines

    def end(self, timeout: float = 10) -> int:
        """Wait for the end and return the exit code."""
        return self.process.wait(timeout)

    def err(self) -> str:
        """Return what was written to the standard error so far."""
        return self._err.read_text()

    def err_lines(self) -> list[str]:
        """Return the whole lines of it."""
        return whole_lines(self._err)

    def below(self) -> list[psutil.Process]:
        """Return all processes below the launcher, those that nobody reaped yet among them."""
        return psutil.Process(self.pid).children(recursive=True)

    def programs(self) -> list[psutil.Process]:
        """Return all of them but the launcher's guardian."""
        return [each for each in self.below() if not is_guardian(each)]


class Lives:
    """The lives of one test; when it ends, each process of theirs has to be gone."""

    enter: Sequence[str] = ()  # the words that lead to where they are, in front of all
    inside: Sequence[str] = ()  # and those behind a process namespace of their own
    launcher: Sequence[str] = (*LAUNCHER, "--")

    def __init__(self) -> None:
        """Mark what is about to be started, so that it can be found wherever it goes."""
        self._mark = uuid.uuid4().hex
        self._lives: list[Life] = []
        self._room = tempfile.TemporaryDirectory()

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return an environment in which a launcher is a plain init, with the mark."""
        return {**os.environ, "LAUNCHER_PEERS": "self", **(more or {}), MARK: self._mark}

    def words(self, command: Sequence[str]) -> tuple[str, ...]:
        """Return how a command is called where these lives are."""
        return tuple(command)

    def start(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        process_one: bool = False,
        before: Sequence[str] = (),
        whole_env: Mapping[str, str] | None = None,
        preexec: Callable[[], None] | None = None,
        pass_fds: Sequence[int] = (),
        launcher: Sequence[str] | None = None,
    ) -> Life:
        """Start a launcher with a command, in a session of its own; `before` are the words in front of all."""
        launcher = self.launcher if launcher is None else launcher
        within = (*self.enter, *before, *(NAMESPACE if process_one else ()), *self.inside)
        err = Path(self._room.name, str(len(self._lives)))
        with err.open("wb") as stderr:
            process = subprocess.Popen(
                [*within, *launcher, *self.words(command)],
                env={**whole_env, MARK: self._mark} if whole_env is not None else self.environment(env),
                stdin=subprocess.PIPE,  # one that nobody writes to: a child may wait on it for ever
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
                preexec_fn=preexec,
                pass_fds=pass_fds,
            )
        self._lives.append(life := Life(process, err, process_one=process_one))
        return life

    def marked(self) -> list[int]:
        """Return every process that carries the mark."""
        needle = f"{MARK}={self._mark}".encode()
        return [pid for pid in psutil.pids() if needle in _environ(pid)]

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """End the launchers that still run, and hold that nothing is left of any."""
        for number, life in enumerate(self._lives):
            life.kill()
            print(f"what launcher {number} told last:\n{life.err()[-3000:]}")  # pytest shows it where a test fails
        try:
            wait_until(lambda: not self.marked(), timeout=5)
        finally:
            for pid in self.marked():
                _kill(pid)
            for life in self._lives:
                life.process.wait(10)
                for file in (life.process.stdin, life.process.stdout):
                    if file:
                        file.close()
            self._room.cleanup()


def _only_child(pid: int) -> int:
    try:
        children = psutil.Process(pid).children()
    except psutil.NoSuchProcess:
        return 0
    return children[0].pid if children else 0


def _environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
