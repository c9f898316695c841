"""A job that 0.1.0's desk made, looked after by today's, on the objects that 0.1.0 sent."""

from __future__ import annotations

import pytest
import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from tests.grounds.api.control_plane import ControlPlane
from tests.grounds.api.kubelet import bind, serving
from tests.process.desk.test_paddlectl import RUNNING, all_become, begun, ended, everything, pods
from tests.support.desks import User
from tests.support.vectors import MANIFESTS
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(180)

NAME = "my-submit"


@pytest.fixture
def submitted(plane: ControlPlane, me: User) -> None:
    """Send what 0.1.0's `submit` sent."""
    plane.make(me.namespace, {"kind": "PersistentVolumeClaim", "metadata": {"name": "public"}, "spec": {
        "accessModes": ["ReadOnlyMany"], "resources": {"requests": {"storage": "1Gi"}}}})  # fmt: skip
    for each in yaml.safe_load_all((MANIFESTS / "submit.yaml").read_text()):
        plane.make(me.namespace, {**each, "metadata": {**each["metadata"], "namespace": me.namespace}})
    begun(plane, me)


def state(me: User) -> str:
    return me("get", "jobs", "-o", "wide").rows[1][7]


@pytest.mark.usefixtures("submitted")
def test_a_job_of_then_is_seen_followed_and_waited_for(plane: ControlPlane, me: User) -> None:
    assert state(me) == "Starting"
    with serving(plane) as kubelet:
        for name in pods(plane, me):
            bind(plane, me.namespace, name, kubelet)
            plane.become(me.namespace, name, RUNNING)
            kubelet.write(name, f"line of {name}")
        assert me("wait", NAME, "--for", "running", "--timeout", "30s").code == 0
        assert state(me) == "Running"
        assert [row[1] for row in me("get", "workers", NAME).rows] == ["STATUS", *["Running"] * 5]
        page = me("describe", NAME)
        assert page.code == 0, page.err
        assert "entry:       python trainer_config.py\n" in page.out
        assert "trainers:    3, each with cpu 1, memory 1Gi; at most memory 1Gi\n" in page.out
        logs = me("logs", NAME)
        assert [line.split(" | ")[0] for line in logs.out.splitlines()] == [
            "trainer-0", "trainer-1", "trainer-2", "pserver-0", "pserver-1"
        ]  # fmt: skip
        for name in pods(plane, me):
            kubelet.end(name)
        with me.started("logs", "-f", NAME) as following:
            all_become(plane, me, ended(0))
            assert following.wait(timeout=60) == 0
    assert me("wait", NAME, "--timeout", "30s").code == 0
    assert state(me) == "Complete"


@pytest.mark.usefixtures("submitted")
def test_a_job_of_then_is_suspended_killed_resumed_and_replaced(plane: ControlPlane, me: User) -> None:
    for each in ("trainer", "pserver"):  # as 0.1.0's `kill` did it: without a mark
        path = f"/apis/batch/v1/namespaces/{me.namespace}/jobs/{NAME}-{each}"
        plane.change(path, {"spec": {"suspend": True}})
    wait_until(lambda: not pods(plane, me), timeout=30, every=0.1)
    assert state(me) == "Suspended"
    for verb, there, told in (
        ("resume", 5, "Starting"), ("suspend", 0, "Suspended"), ("resume", 5, "Starting"), ("kill", 0, "Killed"),
    ):  # fmt: skip
        said = me(verb, NAME)
        assert said.code == 0, said.err
        wait_until(lambda: len(pods(plane, me)) == there, timeout=30, every=0.1)  # noqa: B023  # at once
        assert state(me) == told
    again = ("submit", "-jobname", NAME, "-entry", "python train.py", "/pfs/datacenter1/home/me/package")
    refused = me(*again)
    assert (refused.code, "was killed" in refused.err) == (1, True)
    replaced = me(*again, "--replace")
    assert replaced.code == 0, replaced.err
    assert me("kill", "-rm", NAME).code == 0
    wait_until(lambda: not everything(plane, me), timeout=30, every=0.2)
