"""The tests' own Docker daemon: it is nobody else's, and leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.support.docker import STAND_IN, Docker, load, running
from tests.support.docker.remains import groups_of, mounts_of, processes_of

pytestmark = pytest.mark.timeout(900)


def bridges() -> set[Path]:
    """Return the bridges of Docker's networks, and the ends of containers' wires in them."""
    return {path for pattern in ("br-*", "br-*/brif/*") for path in Path("/sys/class/net").glob(pattern)}


def rules() -> str:
    return Path("/proc/net/ip_tables_names").read_text() if Path("/proc/net/ip_tables_names").exists() else ""


def remains(directory: Path) -> list[object]:
    left = [*processes_of(directory), *mounts_of(directory), *groups_of(f"paddle-launcher-{directory.name}")]
    return [*left, *([directory] if directory.exists() else [])]


def busy(docker: Docker) -> None:
    """Give the daemon a container in a network of its own."""
    load(docker)
    docker.says("network", "create", "own")
    docker.says("run", "--detach", "--network", "own", "--name", "sleeper", STAND_IN, "sleep", "600")
    docker.says(
        "run", "--rm", "--network", "own", STAND_IN, "python3", "-c", "import socket as s; s.gethostbyname('sleeper')"
    )


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_daemon(docker: Docker, end: signal.Signals) -> None:  # noqa: ARG001  # it says if one can be
    before, tables, forwarding = bridges(), rules(), Path("/proc/sys/net/ipv4/ip_forward").read_text()
    with running() as own:
        busy(own)
        assert remains(own.directory)
        wires = bridges() - before
        assert len(wires) == 2
        if end is signal.SIGKILL:
            os.kill(int((own.directory / "pid").read_text()), end)
    assert remains(own.directory) == []
    assert bridges() == before
    assert not [path for path in wires if Path("/sys/class/net", path.name).exists()]
    assert rules() == tables
    assert Path("/proc/sys/net/ipv4/ip_forward").read_text() == forwarding
