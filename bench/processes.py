"""Starts what is measured, hears from it, looks into it, and ends it: processes of this run alone, by pid."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 60.0
# As process 1 of a namespace of its own, which ends with it.
AS_PROCESS_ONE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--")


class Unheard(Exception):
    """Something measured did not do its part in time."""


class Bell:
    """A FIFO that a child rings by writing a line, however deep below this process it runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._heard = b""

    def hear(self) -> tuple[float, bytes]:
        """Return when the next line came, and the line."""
        came = time.monotonic()
        while b"\n" not in self._heard:
            ready, _, _ = select.select([self._descriptor], [], [], PATIENCE)
            came = time.monotonic()
            if not ready:
                raise Unheard(f"nothing was heard for {PATIENCE:g} s")
            self._heard += os.read(self._descriptor, 4096)
        line, _, self._heard = self._heard.partition(b"\n")
        return came, line

    def forget(self) -> None:
        """Throw away what was said and not heard."""
        self._heard = b""
        with suppress(BlockingIOError):
            while os.read(self._descriptor, 4096):
                pass

    def close(self) -> None:
        os.close(self._descriptor)
        self.path.unlink()


@contextmanager
def bell(directory: Path) -> Iterator[Bell]:
    """Hang up a bell for as long as the body runs."""
    hung = Bell(directory / "bell")
    try:
        yield hung
    finally:
        hung.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """A running process, and when it was started."""

    process: subprocess.Popen[bytes]
    begun: float
    wrapped: bool

    @property
    def pid(self) -> int:
        """The pid, from outside, of the process that is measured: below `unshare` where that starts it."""
        if not self.wrapped:
            return self.process.pid
        return int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])

    def end(self) -> float:
        """Say TERM, wait for the end, and return the seconds between."""
        pid = self.pid
        begun = time.monotonic()
        os.kill(pid, signal.SIGTERM)
        return self.ended() - begun

    def ended(self) -> float:
        """Wait for the end, and return when it was; `Popen.wait` with a time-out would only look now and then."""
        watched = os.pidfd_open(self.process.pid)
        try:
            ready, _, _ = select.select([watched], [], [], PATIENCE)
        finally:
            os.close(watched)
        at = time.monotonic()
        if not ready:
            raise Unheard(f"a process did not end in {PATIENCE:g} s")
        self.process.wait()
        return at


@contextmanager
def running(
    argv: Sequence[str],
    env: Mapping[str, str] | None = None,
    *,
    output: int = subprocess.DEVNULL,
    errors: int = subprocess.DEVNULL,
) -> Iterator[Life]:
    """Run a program for as long as the body does."""
    begun = time.monotonic()
    process = subprocess.Popen(
        argv,
        env=environment(env or {}),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
    )
    life = Life(process=process, begun=begun, wrapped="unshare" in argv)
    try:
        yield life
    finally:
        _end(life)


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return a small environment: what this run was started with may make Python slower."""
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **given}


def _end(life: Life) -> None:
    process = life.process
    # Killed, a process 1 takes all of its namespace with it; any other one has to end its child by itself.
    signum = signal.SIGKILL if life.wrapped else signal.SIGTERM
    if process.poll() is None:
        with suppress(ProcessLookupError, FileNotFoundError, IndexError, subprocess.TimeoutExpired):
            os.kill(life.pid, signum)
            process.wait(10)
    if process.poll() is None:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()


def memory(pid: int) -> dict[str, float]:
    """Return megabytes of memory: now, and at the most so far."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {name: int(status[field].split()[0]) * 1024 / 1e6 for name, field in (("rss", "VmRSS"), ("peak", "VmHWM"))}
