"""Files to a volume and from it on the real cluster: as the seeds type it, killed in the middle, and exactly."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cluster.files import HOME, user_of
from tests.cluster.kubectl import Kubectl
from tests.cluster.volumes import Volume
from tests.support.agents import arrived, contents, noise
from tests.support.desks import Said, User
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("images")

BIG = 64 << 20


@pytest.fixture
def volume(claimed: Volume) -> Path:
    claimed.path.chmod(0o777)
    return claimed.path


@pytest.fixture
def me(namespace: Kubectl, volume: Path, tmp_path: Path) -> User:  # noqa: ARG001  # it has to be there
    made = user_of(namespace, tmp_path)
    (made.home / "work").mkdir()
    return made


@pytest.fixture
def work(me: User) -> Path:
    return me.home / "work"


def typed(me: User, *words: str) -> Said:
    """Type a command in the work directory."""
    done = subprocess.run(
        me.words(*words), env=me.environ(), capture_output=True, text=True, timeout=200, check=False,
        cwd=me.home / "work",
    )  # fmt: skip
    return Said(code=done.returncode, out=done.stdout, err=done.stderr)


def no_pods(namespace: Kubectl) -> None:
    wait_until(lambda: not namespace.items("pods"), timeout=60, every=0.5)


def data(top: Path, files: int = 1000) -> None:
    for number in range(files):
        path = top / "dataset" / f"part-{number % 10}" / f"{number:05d}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(noise(number * 7919 % 3000, number))


def test_the_seeds_verbs(namespace: Kubectl, me: User, volume: Path, work: Path) -> None:
    namespace("label", "namespace", namespace.namespace, "pod-security.kubernetes.io/enforce=restricted")
    data(work, 20)
    assert typed(me, "mkdir", f"{HOME}/mine").code == 0
    done = typed(me, "file", "dataset", f"{HOME}/mine")
    assert (done.code, done.out) == (0, ""), done.err
    assert contents(volume / "mine") == contents(work)
    done = typed(me, "file", "dataset/", "/pfs/datacenter1/user/me/mine/flat")
    assert done.code == 0, done.err
    assert contents(volume / "mine" / "flat") == contents(work / "dataset")
    listed = typed(me, "ls", f"{HOME}/mine")
    assert (listed.code, listed.out) == (0, "dataset/\nflat/\n"), listed.err
    assert typed(me, "rm", f"{HOME}/mine/flat").code == 1
    assert typed(me, "rm", "-r", f"{HOME}/mine/flat").code == 0
    assert typed(me, "cp", f"{HOME}/mine/dataset/", "back").code == 0
    assert contents(work / "back") == contents(work / "dataset")
    no_pods(namespace)


def test_many_and_large_files_come_both_ways_and_go_on_after_a_kill(
    namespace: Kubectl, me: User, volume: Path, work: Path
) -> None:
    data(work)
    (work / "dataset" / "weights").write_bytes(noise(BIG))
    killed(me, work, volume, "cp", "dataset", f"{HOME}/mine")
    done = typed(me, "cp", "dataset", f"{HOME}/mine/")
    assert done.code == 0, done.err
    assert re.search(r"1,001 files, .* was there already", done.err), done.err
    assert contents(volume / "mine") == contents(work)
    killed(me, work, work / "back", "cp", f"{HOME}/mine/dataset", "back")
    done = typed(me, "cp", f"{HOME}/mine/dataset", "back")
    assert done.code == 0, done.err
    assert contents(work / "back") == contents(volume / "mine")
    again = typed(me, "cp", "dataset", f"{HOME}/mine/")
    assert "of it was there already" in again.err
    # The pods of those that were killed end by themselves, and the next one sweeps them.
    wait_until(lambda: all(each["status"]["phase"] != "Running" for each in namespace.items("pods")), timeout=100)
    assert typed(me, "ls").code == 0
    no_pods(namespace)


def killed(me: User, work: Path, where: Path, *words: str) -> None:
    """Kill a copy when the large file is there by half."""
    with subprocess.Popen(me.words(*words), env=me.environ(), cwd=work, stderr=subprocess.DEVNULL) as process:
        wait_until(
            lambda: arrived(where) > 18 << 20,
            timeout=90,
            every=0.002,
        )
        process.kill()
    assert not list(where.rglob("weights"))


def test_ctrl_c_leaves_no_pod(namespace: Kubectl, me: User, volume: Path, work: Path) -> None:
    (work / "weights").write_bytes(noise(BIG))
    with subprocess.Popen(me.words("cp", "weights", HOME), env=me.environ(), cwd=work) as process:
        wait_until(lambda: list(volume.glob(".paddlectl-*")), timeout=90, every=0.002)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
    no_pods(namespace)


def test_an_image_without_the_agent_is_told(namespace: Kubectl, me: User, box: str) -> None:
    me.configure(**{**read(me), "image": box})
    done = typed(me, "ls")
    assert done.code == 1
    assert "the pod that copies files cannot start" in done.err
    no_pods(namespace)


def read(me: User) -> dict[str, object]:
    """Return what the user's configuration says of the datacenter."""
    found: dict[str, object] = json.loads((me.home / ".paddle" / "config").read_text())["datacenters"][0]
    return {name: value for name, value in found.items() if name != "name"}
