"""`paddlectl doctor`: what is missing and what to do; what two pods see, through a real API server to real agents."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.grounds.api.control_plane import ControlPlane
from tests.grounds.api.nodes import PULLING, Node, node_of
from tests.support.desks import User
from tests.support.waiting import wait_until

SUBMIT = (
    "submit", "-jobname", "my-job", "-parallelism", "2", "-entry", "python train.py", "/pfs/datacenter1/home/me/p",
)  # fmt: skip
STARTING: dict[str, object] = {
    "phase": "Failed",
    "containerStatuses": [
        {"name": "files", "ready": False, "restartCount": 0, "image": "i", "imageID": "i",
         "state": {"terminated": {"exitCode": 128, "reason": "StartError"}}}
    ],
}  # fmt: skip


# An elastic Job that somebody has written by hand.
CARELESS: dict[str, Any] = {
    "kind": "Job",
    "metadata": {"name": "careless"},
    "spec": {
        "suspend": True,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "own", "image": "i", "env": [{"name": "LAUNCHER_MEMBERS", "value": "2:5"}]}],
            }
        },
    },
}


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    path = tmp_path / "volume"
    path.mkdir()
    return path


@pytest.fixture
def node(plane: ControlPlane, me: User, volume: Path) -> Iterator[Node]:
    with node_of(plane, me.namespace, volume) as found:
        yield found


def probes(plane: ControlPlane, me: User) -> list[str]:
    names = [each["metadata"]["name"] for kind in ("Pod", "Service") for each in plane.items(me.namespace, kind)]
    return [name for name in names if name.startswith("paddlectl-")]


def nothing_is_left(plane: ControlPlane, me: User, volume: Path) -> None:
    wait_until(lambda: not probes(plane, me), timeout=10, every=0.05)
    assert not list(volume.glob(".paddlectl*"))


def test_two_pods_tell_what_they_see(plane: ControlPlane, me: User, node: Node, volume: Path, tmp_path: Path) -> None:
    """There is no DNS on this ground, so that a name is what is missing; it is waited for but briefly."""
    hasty = tmp_path / "hasty" / "sitecustomize.py"
    hasty.parent.mkdir()
    hasty.write_text("import launcher.desk.doctor.probe as probe\nprobe.NAMED_WITHIN = 1\n")
    plane.enforce(me.namespace, "restricted")
    assert me(*SUBMIT).code == 0
    plane.make(me.namespace, CARELESS)
    for rank in (0, 2):
        (volume / "jobs" / "my-job" / str(rank) / "data").mkdir(parents=True)
    said = me("doctor", "my-job", PYTHONPATH=str(hasty.parent))
    assert said.code == 1
    for line in (
        "ok    image   repo/paddle:2.6.2 can be pulled and has the launcher",
        "ok    volume  a pod can write, create exclusively and rename files on it",
        f"ok    volume  two pods on one node, {node.name}, where both were started, share the volume: a file was "
        "seen after ",
        "FAIL  elastic careless lacks `podReplacementPolicy: Failed`: two pods of one index may run for a ",
        "FAIL  shards  /pfs/datacenter1/home/me/jobs/my-job/<rank>/data: missing 1; there are 2 for 2 trainers",
    ):
        assert line in said.out, said.out + said.err
    assert re.search(r"(ok|FAIL) +shm +a pod.* \d+ MiB", said.out)
    assert re.search(r"FAIL  dns     in a pod the headless name paddlectl-doctor-\w{8} has no address", said.out)
    of_doctor = [each for each in node.specs if "affinity" in each]
    assert len(of_doctor) == 2
    assert all(each["volumes"][0]["persistentVolumeClaim"] == {"claimName": "mfs"} for each in of_doctor)
    nothing_is_left(plane, me, volume)


ONE: dict[str, Any] = {
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "one"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def test_a_claim_for_one_node_is_for_jobs_of_one_pod(plane: ControlPlane, me: User, node: Node, volume: Path) -> None:
    """The doctor's second pod does not wait for it, and a job of several pods is told what comes."""
    plane.make(me.namespace, ONE)
    one = me.saying(volume={"claim": "one"})
    several = me(*SUBMIT, *one, "--dry-run")
    assert several.code == 0
    assert "the claim one is ReadWriteOnce, for one node at a time: those of the job's 3 pods" in several.err
    alone = me(*SUBMIT, *one, "--dry-run", "-parallelism", "1", "-runtime", "env")
    assert (alone.code, "ReadWriteOnce" in alone.err) == (0, False), alone.err
    with me.started("doctor", *one) as asking:
        wait_until(lambda: len(node.specs) == 2, timeout=30, every=0.05)
        asking.send_signal(signal.SIGINT)  # not to wait for a name that this ground cannot resolve
        assert asking.wait(timeout=20) == 130
    first, second = (each["volumes"][0] for each in node.specs)
    assert (first["persistentVolumeClaim"], "emptyDir" in second) == ({"claimName": "one"}, True)
    nothing_is_left(plane, me, volume)


def test_ctrl_c_leaves_nothing(plane: ControlPlane, me: User, node: Node, volume: Path) -> None:
    with me.started("doctor") as asking:
        wait_until(lambda: len(probes(plane, me)) == 3 and len(node.agents) == 2, timeout=30, every=0.05)
        assert len(list(volume.glob(".paddlectl-doctor-*"))) == 1
        asking.send_signal(signal.SIGINT)
        assert asking.wait(timeout=20) == 130
    nothing_is_left(plane, me, volume)


def test_a_desk_that_is_killed_leaves_nothing_on_the_volume(
    plane: ControlPlane, me: User, node: Node, volume: Path
) -> None:
    with me.started("doctor") as asking:
        wait_until(lambda: list(volume.glob(".paddlectl-doctor-*")) and len(node.agents) == 2, timeout=30, every=0.05)
        asking.kill()
    wait_until(lambda: not list(volume.glob(".paddlectl*")), timeout=10)
    (service,) = plane.items(me.namespace, "Service")
    (owner,) = service["metadata"]["ownerReferences"]
    assert owner["kind"] == "Pod"  # with which it goes


@pytest.mark.parametrize(
    ("become", "told", "remedy"),
    [
        (PULLING, "its image cannot be pulled (ErrImagePull): no such image", "check the name repo/paddle:2.6.2;"),
        (STARTING, "has no /opt/launcher of this version: ", "build it as described in docker/README.md"),
    ],
)
def test_an_image_that_does_not_serve_is_told(
    plane: ControlPlane, me: User, node: Node, volume: Path, become: dict[str, object], told: str, remedy: str
) -> None:
    node.become = become
    said = me("doctor")
    assert said.code == 1
    assert re.search(rf"FAIL  image   .*{re.escape(told)}", said.out), said.out
    assert f"-> {remedy}" in said.out
    nothing_is_left(plane, me, volume)


@pytest.mark.usefixtures("node")
def test_without_the_right_to_exec_it_is_told(plane: ControlPlane, me: User, volume: Path) -> None:
    role = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{me.namespace}/roles/paddlectl"
    rules = [each for each in plane.ask("GET", role)["rules"] if "pods/exec" not in each["resources"]]
    plane.change(role, {"rules": rules})
    said = me("doctor")
    assert re.search(r"FAIL  rights  missing in .*: get pods/exec, create pods/exec\n", said.out)
    assert re.search(r'--    pods    not checked: inside a pod: .*"pods/exec"', said.out), said.out
    nothing_is_left(plane, me, volume)


def test_without_an_image_it_looks_from_outside_alone(plane: ControlPlane, me: User) -> None:
    said = me("doctor", *me.without("image"))
    assert said.code == 1
    assert "FAIL  volume  the claim mfs is Pending, not Bound" in said.out
    assert "ok    pods    the namespace admits the pods of jobs" in said.out
    assert "--    image   not checked from inside a pod: datacenter1 has no `image:`" in said.out
    assert plane.items(me.namespace, "Pod") == []
    plane.delete(me.namespace, "RoleBinding", "paddlectl")
    assert re.search(r"FAIL  rights  missing in .*: get jobs, ", me("doctor", *me.without("image")).out)


@pytest.mark.usefixtures("node")
def test_without_a_volume_the_pods_tell_the_rest(plane: ControlPlane, me: User, volume: Path) -> None:
    with me.started("doctor", *me.without("volume")) as asking:
        assert asking.stdout
        told = [asking.stdout.readline() for _ in range(5)]
        assert any(line.startswith("FAIL  volume  datacenter1 has no volume") for line in told), told
        wait_until(lambda: len(probes(plane, me)) == 3, timeout=30, every=0.05)
        (pod, _) = plane.items(me.namespace, "Pod")
        assert [each for each in pod["spec"]["volumes"][0] if each != "name"] == ["emptyDir"]
        asking.send_signal(signal.SIGINT)
        assert asking.wait(timeout=20) == 130
    nothing_is_left(plane, me, volume)


def test_a_job_that_is_not_there_is_told_before_anything(plane: ControlPlane, me: User) -> None:
    said = me("doctor", "no-such")
    assert (said.code, said.out) == (1, "")
    assert "there is no job no-such in the namespace" in said.err
    assert plane.items(me.namespace, "Pod") == []


def test_what_was_found_is_shown_as_values(me: User) -> None:
    without = me.without("image")
    said, found = me(*without, "doctor"), json.loads(me(*without, "doctor", "-o", "json").out)["findings"]
    told = [line[6:].split()[0] for line in said.out.splitlines() if line[:4] in ("ok  ", "--  ", "FAIL")]
    assert [each["what"] for each in found] == told
    assert any(each["remedy"] for each in found) == (said.code == 1)
    assert all(each["sentence"] in said.out for each in found)
