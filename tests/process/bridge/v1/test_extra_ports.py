"""The ports of a v1 pserver that nobody serves by: open once it serves by its first one, closed when it ends."""

from __future__ import annotations

import socket

from launcher.bridge.v1 import extra_ports
from tests.support.waiting import wait_until

HOST = "127.0.0.1"


def test_they_open_after_the_first_port_and_close_with_the_pserver() -> None:
    first, *others = free_ports(3)
    beside = extra_ports.beside(f"{HOST}:{first}", others)
    assert beside
    try:
        assert not any(map(accepts, others))
        with socket.create_server((HOST, first)):
            for port in others * 200:  # whoever comes is let go: no queue fills up
                wait_until(lambda: accepts(port))  # noqa: B023
        beside.communicate(timeout=10)
        assert beside.returncode == 0
        assert not any(map(accepts, others))
    finally:
        beside.kill()
        beside.wait()


def test_they_end_with_a_pserver_that_never_served() -> None:
    (first, other) = free_ports(2)
    beside = extra_ports.beside(f"{HOST}:{first}", [other])
    assert beside
    beside.communicate(timeout=10)
    assert beside.returncode == 0


def test_without_others_there_is_no_process() -> None:
    assert extra_ports.beside(f"{HOST}:7164", []) is None


def accepts(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=5).close()
    except OSError:
        return False
    return True


def free_ports(count: int) -> list[int]:
    listeners = [socket.create_server((HOST, 0)) for _ in range(count)]
    ports: list[int] = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports
