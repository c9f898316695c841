"""The tests' own Docker daemon: it is nobody else's, and leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.grounds.docker import STAND_IN, Docker, load, running
from tests.grounds.docker.remains import remains, surroundings

pytestmark = pytest.mark.timeout(900)


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
    before = surroundings()
    with running() as own:
        busy(own)
        assert remains(own.directory, own.group)
        wires = {line for line in surroundings() - before if "/br-" in line}
        assert len(wires) == 2
        if end is signal.SIGKILL:
            os.kill(int((own.directory / "pid").read_text()), end)
    assert remains(own.directory, own.group) == []
    assert surroundings() == before
    assert not [wire for wire in wires if Path("/sys/class/net", Path(wire).name).exists()]
