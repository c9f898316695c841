"""Training programs that ask their launchers: real processes and services, and a leader of a few lines between."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace

from launcher.pod.gang.here.requests import Ask
from launcher.pod.gang.here.service import HereService
from launcher.pod.gang.here.socket import Caller
from launcher.pod.gang.protocol.barriers import gathered
from launcher.pod.gang.protocol.messages import Generation, LeaderMessage
from tests.support.waiting import wait_until

PRELUDE = """
import os, sys, threading, time
from launcher import here

here.BRIEF = 30  # a busy machine is no launcher that stands still: its reports, too, go over one connection

def refused(call, *arguments, **named):
    try:
        told = f"returned {call(*arguments, **named)}"
    except Exception as error:
        told = f"{type(error).__name__} {error}"
    os.write(1, f"{told}\\n".encode())  # at once: threads may tell at the same moment
"""


class Listening(HereService):
    """A service that keeps what it is asked, and over which connections."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__(changed)
        self.asks: list[Ask] = []
        self.callers: list[Caller] = []

    def asked(self, caller: Caller, ask: Ask) -> None:
        """Take a question."""
        self.asks.append(ask)
        if caller not in self.callers:
            self.callers.append(caller)
        super().asked(caller, ask)


class Gang:
    """Services, each with its trainer's processes, and a leader that gathers whenever it is called."""

    def __init__(self, trainers: int) -> None:
        self._news = threading.Event()
        self.calls = 0
        self.services = [Listening(self._call) for _ in range(trainers)]
        self.programs: list[subprocess.Popen[str]] = []
        self._word = LeaderMessage()
        self._leads = True
        for service in self.services:
            service.start()
        self.begin(1)
        self._leader = threading.Thread(target=self._lead)
        self._leader.start()

    def begin(self, number: int) -> None:
        """Begin a generation."""
        self._word = LeaderMessage(generation=Generation(number=number, members=(), digest=""))
        for rank, service in enumerate(self.services):
            service.begin(number, rank, len(self.services))

    def start(self, rank: int, script: str) -> subprocess.Popen[str]:
        """Start a program beside a launcher."""
        identity = {"TRAINER_ID": str(rank), "TRAINERS": str(len(self.services))}
        self.programs.append(
            subprocess.Popen(
                [sys.executable, "-c", PRELUDE + script],
                env={**os.environ, **identity, **self.services[rank].environment()},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,  # as a launcher does
            )
        )
        return self.programs[-1]

    def run(self, script: str) -> list[list[str]]:
        """Run a program beside each launcher at once and return the lines of each."""
        started = [self.start(rank, script) for rank in range(len(self.services))]
        return [program.communicate(timeout=30)[0].splitlines() for program in started]

    def at(self, rank: int) -> tuple[str, ...]:
        """Return the barriers that a trainer stands at."""
        return self.services[rank].marks.at

    def close(self) -> None:
        """End everything, and find no thread left."""
        self._leads = False
        self._news.set()
        self._leader.join()
        for service in self.services:
            service.close()
        for program in self.programs:
            program.kill()
            program.communicate()
        wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("here")])

    def _call(self) -> None:
        self.calls += 1
        self._news.set()

    def _lead(self) -> None:
        while self._news.wait() and self._leads:
            self._news.clear()
            marks = [service.marks for service in self.services]
            passed, shared = gathered(marks, self._word)
            self._word = replace(self._word, passed=passed, shared=shared)
            for service in self.services:
                service.hear(self._word)


def ended(program: subprocess.Popen[str]) -> str:
    """Return all that a program wrote, once it has ended."""
    return program.communicate(timeout=30)[0]
