"""A program in a machine: started, asked whether it lives, ended by its id, its log kept."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.grounds.cluster.fault import Broken
from tests.grounds.cluster.machine import Machine


@dataclass(slots=True, kw_only=True)
class Process:
    """A program of one machine; it can be stopped and started as often as wanted."""

    machine: Machine
    words: tuple[str | Path, ...]
    log: Path
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The program's name."""
        return Path(self.words[0]).name

    def start(self) -> None:
        """Start the program; its words go to the end of its log."""
        with self.log.open("ab") as log:
            words = self.machine.words(*self.words)
            started = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        self.running.append(started)

    def stop(self, number: signal.Signals = signal.SIGTERM, grace: float = 10) -> None:
        """End the program by a signal, and by KILL where that does not do."""
        while self.running:
            door = self.running.pop()
            if door.poll() is None:
                signal_inside(door, number)
            if not ended(door, grace):
                signal_inside(door, signal.SIGKILL)
                door.wait(timeout=30)

    def reap(self) -> None:
        """Collect the program where its whole machine has been ended."""
        while self.running:
            self.running.pop().wait(timeout=30)

    def await_ready(self, ready: Callable[[], bool], timeout: float = 60) -> None:
        """Wait until the program is ready; say what it said last when it ends before, or takes too long."""
        deadline = time.monotonic() + timeout
        while not ready():
            codes = [door.returncode for door in self.running if door.poll() is not None]
            if codes or time.monotonic() > deadline:
                fate = f"ended with {codes[0]}" if codes else f"was not ready after {timeout:g} s"
                raise Broken(f"{self.name} on {self.machine.name} {fate}; it said last:\n{tail(self.log)}")
            time.sleep(0.05)


def signal_inside(door: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal the program behind nsenter, which waits outside for this one child and ends with it."""
    with suppress(psutil.NoSuchProcess):
        for program in psutil.Process(door.pid).children():
            program.send_signal(number)


def ended(door: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for a process, for so long at most, and return whether it has ended."""
    with suppress(subprocess.TimeoutExpired):
        door.wait(timeout=seconds)
    return door.returncode is not None


def tail(log: Path, size: int = 3000) -> str:
    """Return the end of a log."""
    return log.read_bytes()[-size:].decode(errors="replace") if log.exists() else "(nothing)"
