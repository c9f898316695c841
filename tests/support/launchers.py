"""One launcher of a gang, as a test sees it from outside: its events, its status, its children, its last words."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any

import psutil

from tests.support.lives import Life
from tests.support.talking import events
from tests.support.waiting import wait_until

STATUS_PORT = 7170


@dataclass(slots=True)
class Launcher:
    """One launcher process of a gang, in one pod: what it says, and what runs below it."""

    life: Life
    address: str
    name: str
    uid: str
    work: Path
    role: str
    run: str = ""
    started: float = field(default_factory=time.monotonic)
    ended: float = 0.0  # on the monotonic clock, as soon as anybody looked
    wakings: list[float] = field(default_factory=list)  # when it went on, of those times that its pod was frozen

    @property
    def code(self) -> int | None:
        """The exit code, None while it lives."""
        code = self.life.process.poll()
        if code is not None and not self.ended:
            self.ended = time.monotonic()
        return code

    def events(self, name: str = "") -> list[dict[str, Any]]:
        """Return what it told so far, all of it or one kind."""
        return events(self.life, name)

    def kill(self) -> float:
        """Kill it as nothing else is killed with it, and return when."""
        at = time.monotonic()
        self.send(signal.SIGKILL)
        return at

    def send(self, signum: int) -> None:
        """Send it a signal."""
        self.life.send(signum)

    def status(self) -> dict[str, Any]:
        """Return what it says of itself over HTTP; nothing where it does not answer."""
        with suppress(OSError, ValueError, HTTPException), self._ask() as answer:
            found: dict[str, Any] = json.load(answer)["status"]
            return found
        return {}

    def page(self, path: str) -> tuple[int, str]:
        """Return the code and the text of one of its pages; nothing where it does not answer."""
        with suppress(OSError, HTTPException), self._ask(path) as answer:
            return answer.status, answer.read().decode().rstrip("\n")
        return 0, ""

    @property
    def phase(self) -> str:
        """How far it says that it is."""
        return str(self.status().get("phase", ""))

    def waits_at(self, barrier: str) -> bool:
        """Return whether its trainer waits at this barrier, by its status."""
        return barrier in self.status().get("marks", {}).get("at", [])

    def child(self, role: str = "trainer") -> psutil.Process:
        """Wait for its pserver or trainer, and return the process."""
        found = wait_until(lambda: self._child(role))
        assert found
        return found

    @contextmanager
    def _ask(self, path: str = "/status") -> Iterator[HTTPResponse]:
        with closing(HTTPConnection(self.address, STATUS_PORT, timeout=2)) as wire:  # also where it does not answer
            wire.request("GET", path, headers={"Connection": "close"})
            with wire.getresponse() as answer:
                yield answer

    def _child(self, role: str) -> psutil.Process | None:
        for process in psutil.Process(self.life.pid).children():
            with suppress(psutil.Error):
                if process.environ().get("TRAINING_ROLE") == role.upper():
                    return process
        return None

    def begun(self) -> int:
        """Return the number of the generation that it took part in last."""
        return max((event["generation"] for event in self.events("generation_begins")), default=0)

    def message(self) -> str:
        """Return the last words that stand in its termination message, empty for a good end."""
        _, found, rest = self.life.err().rpartition("start_paddle: ")
        return "\n".join(line for line in rest.splitlines() if not line.startswith('{"timestamp"')) if found else ""

    def reason(self) -> str:
        """Return the reason in its last event."""
        finished = self.events("launcher_finished")
        return str(finished[-1]["reason"]) if finished else ""
