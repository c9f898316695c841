"""What happens to a job whose cluster loses something, while it waits and while it trains."""

from __future__ import annotations

import re

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.training import await_state, begin_to_wait, closed, manifest, pods, reasons, running, seed_two
from tests.cluster.volumes import Volume
from tests.grounds.cluster import Ground
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("ground", "images")


def test_a_pod_deleted_while_the_others_wait_is_replaced_and_all_train(
    cluster: Cluster, namespace: Kubectl, claimed: Volume
) -> None:
    """With seed 002's layout of the shards, and its hostPort."""
    (claimed.job / "data").mkdir()
    for rank in range(3):
        (claimed.job / str(rank) / "data").rename(claimed.job / "data" / str(rank))
        (claimed.job / str(rank)).rmdir()
    with closed(cluster.kubectl, "node-3"):
        namespace.apply(seed_two(namespace))
        first = begin_to_wait(namespace)
        wait_until(lambda: "didn't have free ports" in reasons(namespace, first), timeout=30)
        (second,) = set(running(namespace)) - {first}
        namespace("delete", "pod", second, "--wait=false")
        wait_until(lambda: second not in running(namespace) and len(running(namespace)) == 2, timeout=60)
    await_state(namespace, "Complete", timeout=120)
    assert (claimed.output / "pass-00009" / "done").exists()
    hosts = {pod["spec"]["nodeName"] for pod in pods(namespace) if pod["status"]["phase"] == "Succeeded"}
    assert hosts == {"node-1", "node-2", "node-3"}


def test_an_image_that_is_not_there_is_named_by_those_that_wait(namespace: Kubectl, claimed: Volume) -> None:
    pservers = manifest("separated", "pserver.yaml", image="nobody/has:this")
    trainers = manifest("separated", "trainer.yaml")
    namespace.apply(
        manifest("rbac", namespace=namespace.namespace), manifest("separated", "claim.yaml"), pservers, trainers
    )
    trainer = wait_until(lambda: running(namespace, "paddle-job=paddle-cluster-job"), timeout=60)[0]
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
