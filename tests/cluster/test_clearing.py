"""Nothing is left behind: by a ground that ended, nor by one that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.cluster import NAMED
from tests.cluster.footprint import footprint
from tests.cluster.pods import await_phase, pod
from tests.grounds.cluster import Ground, NoGround, images, packages, state
from tests.grounds.cluster.machine import run
from tests.support.waiting import wait_until


@pytest.fixture(autouse=True)
def machine() -> None:
    """A machine that can carry a ground."""
    if os.environ.get(NAMED):
        pytest.skip(f"the ground is not wanted: {NAMED} names a cluster")
    try:
        packages.check()
    except NoGround as fault:
        pytest.skip(str(fault))
    with state.owned():
        pass


def test_a_ground_that_ends_leaves_nothing_behind() -> None:
    before = footprint()
    with Ground.start(nodes=1) as ground:
        ground.load_image(images.box(ground.directory / "box.tar"))
        ground.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=30s")
        ground.kubectl.apply(pod("stays", "sleep 600"))
        await_phase(ground.kubectl, "stays", "Running")
        assert {kind for kind, _ in footprint() - before} == {"cgroup", "device", "file", "process", "route"}
    assert footprint() <= before


def test_a_killed_ground_ends_by_itself_and_the_next_one_clears_the_rest() -> None:
    before = footprint()
    words = (sys.executable, "-m", "tests.grounds.cluster", "up")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as ground:
        assert ground.stdout
        assert any("Ctrl-C" in line for line in ground.stdout)
        ground.send_signal(signal.SIGKILL)

    def check() -> None:
        assert not [line for kind, line in footprint() - before if kind == "process"]

    wait_until(check, timeout=20)
    with state.owned():
        pass
    assert footprint() <= before


def test_what_others_do_on_the_machine_meanwhile_is_not_the_ground_s(tmp_path: Path) -> None:
    before = footprint()
    run("ip", "link", "add", "stranger", "type", "veth", "peer", "name", "other")
    try:
        run("ip", "address", "add", "172.31.254.77/32", "dev", "stranger")
        run("mount", "-t", "tmpfs", "tmpfs", tmp_path)
        with subprocess.Popen(("unshare", "--mount", "sleep", "600")) as process:
            (tmp_path / "kubelet").touch()
            assert footprint() == before
            process.kill()
    finally:
        run("umount", tmp_path)
        run("ip", "link", "delete", "stranger")


def test_a_second_ground_is_told_of_the_first_whichever_cache_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with state.owned():
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        with pytest.raises(NoGround, match="another ground is up on this machine"):
            state.owned().__enter__()


def test_a_network_that_is_somebody_elses_is_left_alone() -> None:
    run("ip", "address", "add", "172.31.255.77/32", "dev", "lo")
    try:
        with pytest.raises(
            NoGround, match=r"lo has 172\.31\.255\.77, and 172\.31\.255\.0/24 is the ground's network"
        ):
            state.owned().__enter__()
    finally:
        run("ip", "address", "delete", "172.31.255.77/32", "dev", "lo")
