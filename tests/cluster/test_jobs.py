"""A job on a real cluster that ends otherwise than by training to the end: refused, unplaced, deleted."""

from __future__ import annotations

import time

import pytest

from tests.cluster.kubectl import Kubectl
from tests.cluster.training import await_state, ended, manifest, pods, told
from tests.cluster.volumes import JOB, Volume
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("ground", "images")


def test_without_the_role_the_job_fails_at_once_and_says_what_to_apply(namespace: Kubectl, claimed: Volume) -> None:
    """Every pod and its log are still there: one failure each is within N-1."""
    namespace.apply(manifest("distributed-careful"))
    begun = time.monotonic()
    await_state(namespace, "Failed", timeout=60)
    assert time.monotonic() - begun < 40
    found = pods(namespace)
    assert [ended(pod)["exitCode"] for pod in found] == [69, 69, 69]
    for pod in found:
        assert "kind: RoleBinding" in ended(pod)["message"]
        assert "kind: Role" in namespace("describe", "pod", pod["metadata"]["name"])
        assert told(namespace, pod, "launcher_finished")[0]["code"] == 69
    assert not claimed.output.exists()


def test_pods_that_find_no_node_are_told_by_those_that_run_and_the_wait_ends_with_75(
    namespace: Kubectl, claimed: Volume
) -> None:
    text = manifest("distributed-careful", cpu='"1.5"', parallelism="4", completions="4").replace('"3"', '"4"')
    impatient = "name: LAUNCHER_JOIN_TIMEOUT\n          value: '10'\n        - name: LAUNCHER_GRACE"
    namespace.apply(manifest("rbac", namespace=namespace.namespace), text.replace("name: LAUNCHER_GRACE", impatient))
    running = wait_until(lambda: [pod for pod in pods(namespace) if pod["status"]["phase"] == "Failed"], timeout=90)
    message = ended(running[0])["message"]
    assert ended(running[0])["exitCode"] == 75
    assert "Insufficient cpu" in message
    assert claimed.job.exists()


def test_a_deleted_job_ends_all_pods_long_before_their_grace_is_over(namespace: Kubectl, claimed: Volume) -> None:
    namespace.apply(manifest("rbac", namespace=namespace.namespace), manifest("distributed-careful"))
    wait_until(lambda: claimed.output.exists(), timeout=60)
    begun = time.monotonic()
    namespace("delete", "job", JOB)
    wait_until(lambda: not pods(namespace), timeout=30, every=0.1)
    assert time.monotonic() - begun < 15
