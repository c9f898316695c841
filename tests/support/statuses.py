"""Launchers that tell each other their statuses, on loopback addresses of a test's own.

Run as a program (`python -m tests.support.statuses ADDRESS PORT BOOT`), one of them in a process to kill or to stop.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from launcher.pod.gang.protocol.messages import Status, Who
from launcher.pod.gang.protocol.state import Limits
from launcher.pod.gang.status.loop import Statuses
from launcher.pod.gang.status.metrics import Facts
from launcher.pod.gang.status.server import Patience
from launcher.pod.gang.store.recent_events import RecentEvents
from launcher.pod.settings.nouns import Role
from tests.support.talking import free_port
from tests.support.waiting import wait_until

LIMITS = Limits(lost=15, lease=10, wait=3, gather=60, regather=60)
HASTY = replace(LIMITS, wait=0.1)


def who(address: str, boot: str = "b0") -> Who:
    return Who(role=Role.NODE, address=address, uid="pod", boot=boot)


@dataclass
class Pod:
    """One launcher's statuses, how often it was nudged, and what it told."""

    own: Who
    statuses: Statuses
    nudged: threading.Semaphore
    told: list[tuple[str, dict[str, Any]]]

    @property
    def address(self) -> str:
        return self.own.address

    def says(self, **facts: Any) -> Status:  # noqa: ANN401  # a status's fields
        status = Status(who=self.own, **facts)
        self.statuses.publish(status)
        return status

    def hears(self, address: str, status: Status) -> None:
        wait_until(lambda: self.statuses.heard()[address].status == status, every=0.001)

    def why(self, address: str) -> list[str]:
        """Return why this peer was ignored, in order."""
        return [facts["why"] for name, facts in self.told if name == "status_ignored" and facts["peer"] == address]


def stop(statuses: Statuses) -> None:
    """End a launcher's statuses, as the end of its process does."""
    loop = statuses._loop
    loop.call_soon_threadsafe(loop.stop)
    statuses._thread.join()
    open_still: list[asyncio.Server | socket.socket] = [*statuses._servers, *statuses._listeners]
    for each in open_still:
        each.close()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:  # which ends what is left in it
        runner.get_loop()


@dataclass
class Ground:
    """Addresses 127.a.b.*, and one port that is free on all."""

    net: str = field(default_factory=lambda: f"127.{random.randint(1, 250)}.{random.randint(0, 250)}")  # noqa: S311
    pods: list[Pod] = field(default_factory=list)
    port: int = field(default_factory=free_port)

    def at(self, number: int) -> str:
        return f"{self.net}.{number}"

    def pod(self, number: int, boot: str = "b0", **given: Any) -> Pod:  # noqa: ANN401  # as at_address takes them
        return self.at_address(self.at(number), boot, **given)

    def at_address(
        self,
        address: str,
        boot: str = "b0",
        *,
        bind: str | None = None,
        limits: Limits = LIMITS,
        members: int = 4,
        patience: Patience | None = None,
        facts: Callable[[], Facts] = Facts,
        events: RecentEvents | None = None,
        fresh: Callable[[Status], Status] = lambda status: status,
    ) -> Pod:
        own, nudged = who(address, boot), threading.Semaphore(0)
        told: list[tuple[str, dict[str, Any]]] = []
        statuses = Statuses(
            own,
            bind=address if bind is None else bind,
            port=self.port,
            members=members,
            limits=limits,
            nudge=nudged.release,
            tell=lambda event, **facts: told.append((event, facts)),
            patience=patience,
            facts=facts,
            events=events,
            fresh=fresh,
        )
        statuses.start()
        self.pods.append(Pod(own, statuses, nudged, told))
        return self.pods[-1]

    def leave(self, pod: Pod) -> None:
        self.pods.remove(pod)
        stop(pod.statuses)

    @contextmanager
    def process(self, number: int, boot: str = "b0") -> Iterator[subprocess.Popen[bytes]]:
        """Start a launcher's statuses in a process of their own, and kill it at the end."""
        argv = [sys.executable, "-m", "tests.support.statuses", self.at(number), str(self.port), boot]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
            assert process.stdout
            try:
                assert process.stdout.readline() == b"up\n"
                yield process
            finally:
                process.kill()


@contextmanager
def ground() -> Iterator[Ground]:
    made = Ground()
    try:
        yield made
    finally:
        for pod in made.pods:
            stop(pod.statuses)
        trouble = [facts for pod in made.pods for name, facts in pod.told if name == "statuses_trouble"]
        assert not trouble, trouble


class Wire:
    """A connection that says exactly what it is told to."""

    def __init__(self, address: str, port: int, source: str = "") -> None:
        self.socket = socket.create_connection(
            (address, port), timeout=5, source_address=(source, 0) if source else None
        )

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def get(self, target: str) -> None:
        self.send(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        """Return the code, the headers and the body of the next answer."""
        with self.socket.makefile("rb", buffering=0) as stream:
            first = stream.readline()
            assert first, "closed without an answer"
            headers: dict[str, str] = {}
            while line := stream.readline().strip():
                name, _, value = line.decode().partition(": ")
                headers[name.lower()] = value
            body = b""
            while len(body) < int(headers["content-length"]):
                body += stream.read(int(headers["content-length"]) - len(body)) or b""
        return int(first.split()[1]), headers, body

    def closed(self) -> bool:
        """Return whether the other side closes, within the time of this socket."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True


def ask(pod: Pod, target: str, port: int) -> tuple[int, dict[str, str], bytes]:
    with Wire(pod.address, port) as wire:
        wire.get(target)
        return wire.answer()


def json_of(answer: tuple[int, dict[str, str], bytes]) -> Any:  # noqa: ANN401  # JSON
    assert answer[0] == 200
    assert answer[1]["content-type"] == "application/json"
    return json.loads(answer[2])


def main() -> None:
    address, port, boot = sys.argv[1:]
    statuses = Statuses(
        who(address, boot),
        bind=address,
        port=int(port),
        members=4,
        limits=LIMITS,
        nudge=lambda: None,
        tell=lambda *_, **__: None,
    )
    statuses.start()
    print("up", flush=True)
    time.sleep(60)


if __name__ == "__main__":
    main()
