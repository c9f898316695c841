"""The ports that a program opens: free before it starts, or refused with the name of who has them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.pod.programs.runtimes import devices
from tests.support.lives import Lives, child

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def lives() -> Iterator[Lives]:
    with Lives() as made:
        yield made


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that this very process listens on, at every address."""
    with socket.create_server(("0.0.0.0", 0)) as server:  # as torch's store does
        yield server.getsockname()[1]


def test_a_port_that_is_taken_is_71_and_names_its_holder(lives: Lives, taken: int) -> None:
    env = {"LAUNCHER_RUNTIME": "torch", "POD_IP": "127.0.0.1", "LAUNCHER_PORTS": str(taken)}
    life = lives.start(*child("listener.py", 0), env=env)
    assert life.end() == 71
    message = next(line for line in life.err().splitlines() if line.startswith("start_paddle: "))
    assert (
        f"cannot start trainer 0: port {taken} at 127.0.0.1: Address already in use, by process {os.getpid()}: "
        in message
    )
    assert message.endswith("expected it to be free (LAUNCHER_PORTS)")


def test_the_pod_s_manifest_has_the_last_word_on_what_is_only_a_default(lives: Lives) -> None:
    env = {"LAUNCHER_RUNTIME": "paddle", "POD_IP": "127.0.0.1", "CONF_PADDLE_NIC": "lo", "GLOO_SOCKET_IFNAME": "eth7"}
    names = ("PADDLE_TRAINERS_NUM", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "PADDLE_MASTER")
    script = "import os, sys; print(*(os.environ.get(name) for name in sys.argv[1:]), flush=True)"
    life = lives.start("python3", "-c", script, *names, env=env)
    assert life.line() == "1 eth7 lo 127.0.0.1:12400"
    assert life.end() == 0


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ((), 0),
        (("null", "nvidiactl", "nvidia-uvm", "nvidia-modeset"), 0),
        (("nvidia0", "nvidia1", "nvidia10", "nvidiactl"), 3),
        (("accel0", "accel1", "accelerometer"), 2),
    ],
)
def test_devices_are_counted_by_their_files(tmp_path: Path, files: tuple[str, ...], count: int) -> None:
    for name in files:
        (tmp_path / name).touch()
    assert devices.attached(tmp_path) == count
