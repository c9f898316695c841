"""What happens to a job whose cluster loses something, while it waits and while it trains."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.ground import Ground
from tests.cluster.kubectl import Kubectl
from tests.cluster.test_jobs import claimed, images
from tests.cluster.training import Volume, await_state, ended, manifest, pods, told
from tests.support.waiting import wait_until

__all__ = ("claimed", "images")  # fixtures
pytestmark = pytest.mark.usefixtures("ground", "images")
OUTAGE = 60.0


@pytest.fixture
def two_nodes(cluster: Cluster) -> Iterator[Kubectl]:
    """The cluster with node-3 closed to new pods, until a test opens it."""
    cluster.kubectl("cordon", "node-3")
    yield cluster.kubectl
    cluster.kubectl("uncordon", "node-3")


def seed_two(namespace: Kubectl) -> None:
    """Apply seed 002's Job: its hostPort allows one pod a node. The volume behind its claim is the test's own."""
    job = manifest("aws", "job.yaml").replace("value: default", f"value: {namespace.namespace}")
    job = job.replace("claimName: efs", "claimName: mfs")
    namespace.apply(manifest("rbac", namespace=namespace.namespace), manifest("indexed", "claim.yaml"), job)


def reasons(kubectl: Kubectl, pod: str) -> str:
    """Return all that a pod's launcher said it waited for."""
    return "\n".join(event["reason"] for event in told(kubectl, pod, "waiting_for_peers"))


def running(kubectl: Kubectl) -> list[str]:
    """Return the names of the pods that run."""
    return [pod["metadata"]["name"] for pod in pods(kubectl) if pod["status"]["phase"] == "Running"]


def test_a_pod_deleted_while_the_others_wait_is_replaced_and_all_train(
    namespace: Kubectl, claimed: Volume, two_nodes: Kubectl
) -> None:
    """With seed 002's layout of the shards, and its hostPort."""
    (claimed.job / "data").mkdir()
    for rank in range(3):
        (claimed.job / str(rank) / "data").rename(claimed.job / "data" / str(rank))
        (claimed.job / str(rank)).rmdir()
    seed_two(namespace)
    wait_until(lambda: len(running(namespace)) == 2, timeout=60)
    first, second = running(namespace)
    wait_until(lambda: "didn't have free ports" in reasons(namespace, first), timeout=30)
    namespace("delete", "pod", second, "--wait=false")
    wait_until(lambda: second not in running(namespace) and len(running(namespace)) == 2, timeout=60)
    two_nodes("uncordon", "node-3")
    await_state(namespace, "Complete", timeout=120)
    assert (claimed.output / "pass-00009" / "done").exists()
    hosts = {pod["spec"]["nodeName"] for pod in pods(namespace) if pod["status"]["phase"] == "Succeeded"}
    assert hosts == {"node-1", "node-2", "node-3"}


def test_an_api_server_away_for_a_minute_is_waited_for(
    namespace: Kubectl, claimed: Volume, two_nodes: Kubectl, ground: Ground
) -> None:
    seed_two(namespace)
    wait_until(lambda: len(running(namespace)) == 2, timeout=60)
    first = running(namespace)[0]
    wait_until(lambda: reasons(namespace, first), timeout=30)
    ground.api_server.stop()
    try:
        with pytest.raises(AssertionError):  # nothing happens for a minute, which is what is to be seen
            wait_until(lambda: (claimed.output / "node_0").exists(), timeout=OUTAGE, every=1)
    finally:
        ground.api_server.start()
        ground.await_api()
    two_nodes("uncordon", "node-3")
    await_state(namespace, "Complete", timeout=120)
    assert "cannot be reached" in reasons(namespace, first)


def test_an_image_that_is_not_there_is_named_by_those_that_wait(namespace: Kubectl, claimed: Volume) -> None:
    pservers = manifest("separated", "pserver.yaml", image="nobody/has:this")
    trainers = manifest("separated", "trainer.yaml")
    namespace.apply(
        manifest("rbac", namespace=namespace.namespace), manifest("separated", "claim.yaml"), pservers, trainers
    )
    trainer = wait_until(
        lambda: [
            pod["metadata"]["name"]
            for pod in namespace.items("pods", "--selector", "paddle-job=paddle-cluster-job")
            if pod["status"]["phase"] == "Running"
        ],
        timeout=60,
    )[0]
    wait_until(lambda: bool(re.search("ErrImagePull|ImagePullBackOff", reasons(namespace, trainer))), timeout=60)
    assert "nobody/has:this" in reasons(namespace, trainer)
    assert claimed.job.exists()


def test_a_kubelet_that_stops_for_a_while_disturbs_no_training(
    namespace: Kubectl, claimed: Volume, ground: Ground
) -> None:
    namespace.apply(manifest("rbac", namespace=namespace.namespace), manifest("distributed-careful"))
    wait_until(lambda: (claimed.output / "pass-00000").exists(), timeout=60)
    kubelet = ground.node(2).kubelet
    kubelet.stop()
    try:
        wait_until(lambda: (claimed.output / "pass-00009" / "done").exists(), timeout=60)
    finally:
        kubelet.start()
    await_state(namespace, "Complete", timeout=120)


def test_a_token_that_is_revoked_and_replaced_ends_no_wait(
    namespace: Kubectl, claimed: Volume, two_nodes: Kubectl
) -> None:
    """The token of a Secret dies seconds after the Secret is deleted, and the kubelet brings the new one's."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "own-token", "annotations": {"kubernetes.io/service-account.name": "default"}},
        "type": "kubernetes.io/service-account-token",
    }
    namespace.apply(secret)
    seed = manifest("aws", "job.yaml").replace("value: default", f"value: {namespace.namespace}")
    mounted = seed.replace("claimName: efs", "claimName: mfs").replace(
        "      volumes:\n", "      volumes:\n      - {name: token, secret: {secretName: own-token}}\n"
    )
    where = "/var/run/secrets/kubernetes.io/serviceaccount"
    mounted = mounted.replace(
        "        volumeMounts:\n", f"        volumeMounts:\n        - {{name: token, mountPath: {where}}}\n"
    )
    namespace.apply(manifest("rbac", namespace=namespace.namespace), manifest("indexed", "claim.yaml"), mounted)
    wait_until(lambda: len(running(namespace)) == 2, timeout=60)
    first = running(namespace)[0]
    wait_until(lambda: reasons(namespace, first), timeout=30)
    namespace("delete", "secret", "own-token")
    wait_until(lambda: "answers 401" in reasons(namespace, first), timeout=120, every=1)
    namespace.apply(secret)
    two_nodes("uncordon", "node-3")
    await_state(namespace, "Complete", timeout=200)
    assert not any(ended(pod).get("exitCode") for pod in pods(namespace))
    assert (claimed.output / "pass-00009" / "done").exists()
