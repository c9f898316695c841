"""A job whose programs talk: a launcher over one or two of them, the volume with their logs, and what was told."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.lives import Life, Lives

BELOW_THE_KERNELS = (20000, 32000)  # of what the kernel gives to connections (ip_local_port_range)
# What every program of these tests can do; `role` is PSERVER or TRAINER where there are two.
PRELUDE = """
import os, signal, socket, sys, time

role = os.environ.get("TRAINING_ROLE", "")
if role == "PSERVER":
    door = socket.create_server((os.environ["POD_IP"], int(os.environ["PADDLE_PORT"])))

def say(block, to=1):
    while block:
        block = block[os.write(to, block):]

def touch(path):
    open(path, "w").close()

def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.005)
"""


class Job:
    """One job on one volume, lived as often as a test wants."""

    def __init__(self, lives: Lives, top: Path) -> None:
        self._lives = lives
        self.top = top
        self.volume = top / "volume"
        self.volume.mkdir()
        (top / "work").mkdir()

    def start(
        self,
        script: str,
        *arguments: object,
        children: int = 1,
        before: Sequence[str] = (),
        preexec: Any = None,  # noqa: ANN401  # as Popen takes it
        **environ: str,
    ) -> Life:
        """Start a launcher over a script as its trainer, or as its pserver and its trainer."""
        env = {
            "LAUNCHER_PEERS": "static:127.0.0.1",
            "POD_IP": "127.0.0.1",
            "LAUNCHER_RUNTIME": "env" if children == 1 else "fleet",
            "LAUNCHER_GRACE": "5",
            "LAUNCHER_MAX_RESTARTS": "0",
            "LAUNCHER_STATUS_PORT": str(free_port()),
            "LAUNCHER_WORKDIR": str(self.top / "work"),
            "JOB_NAME": "job",
            "JOB_PATH": str(self.volume),
        }
        program = (sys.executable, "-I", "-S", "-c", PRELUDE + script, *map(str, arguments))
        return self._lives.start(*program, env=env | environ, before=before, preexec=preexec)

    @property
    def output(self) -> Path:
        """The directory that holds the logs, by rank."""
        return self.volume / "job" / "output"

    def log(self, name: str = "train.log") -> Path:
        """Return the path of a log."""
        return self.output / "node_0" / name


def free_port() -> int:
    """Return a port that nobody has at the moment, at any address; the kernel gives it to no connection."""
    while True:
        port = random.randrange(*BELOW_THE_KERNELS)  # noqa: S311  # no secret
        with suppress(OSError), socket.create_server(("", port)):
            return port


def events(life: Life, name: str = "") -> list[dict[str, Any]]:
    """Return what the launcher told so far, all of it or one kind."""
    told = [json.loads(line) for line in life.err_lines() if line.startswith('{"timestamp"')]
    return [event for event in told if event["event"] == name or not name]


def all_of(life: Life) -> bytes:
    """Read a launcher's standard output to its end."""
    assert life.process.stdout
    return life.process.stdout.read()


def kill(pid: int) -> None:
    """End a process that a test's program left behind."""
    os.kill(pid, signal.SIGKILL)
