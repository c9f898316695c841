"""The manifests of k8s/ on a real cluster, with a stand-in for Paddle that really trains."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.ground import Ground
from tests.cluster.kubectl import Kubectl, KubectlFailed
from tests.cluster.training import (
    JOB,
    SEEDS_VOLUME,
    Volume,
    await_state,
    ended,
    manifest,
    pods,
    shared,
    told,
    volume_at,
)
from tests.support.docker.images import image_tar
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("ground", "images")


@pytest.fixture(scope="session")
def images(cluster: Cluster) -> None:
    """The project's images, on every node."""
    cluster.load_image(image_tar())


@pytest.fixture
def seeds_volume() -> Iterator[Volume]:
    """The directory that the seed's hostPath names."""
    with volume_at(SEEDS_VOLUME) as volume:
        volume.furnish()
        yield volume


@pytest.fixture
def default(cluster: Cluster) -> Iterator[Kubectl]:
    """The namespace `default`, which the seed's JOB_NAMESPACE names."""
    kubectl = cluster.kubectl.within("default")
    yield kubectl
    kubectl("delete", "job,role,rolebinding", "--all", "--grace-period=1", timeout=90)
    kubectl("delete", "pods", "--all", "--grace-period=1", timeout=90)


@pytest.fixture
def claimed(namespace: Kubectl, tmp_path: Path) -> Iterator[Volume]:
    """A volume behind the claim `mfs` of the test's own namespace."""
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    with volume_at(tmp_path / "mfs") as volume:
        volume.furnish()
        namespace.apply(shared(namespace, volume.path))
        yield volume
        namespace("delete", "job", "--all", "--grace-period=1", "--timeout=60s", timeout=90)
        namespace("delete", "persistentvolume", f"mfs-{namespace.namespace}", "--wait=false")


def in_rank_order_all_trained(volume: Volume, kubectl: Kubectl) -> None:
    """Hold what the seed's articles show: logs by rank, the pservers in rank order, passes with `done`."""
    addresses = [pod["status"]["podIP"] for pod in pods(kubectl)]
    for rank in range(3):
        log = volume.log(rank)
        assert f"--trainer_id={rank}" in log
        assert f"--pservers={','.join(addresses)}" in log
        assert f"--save_dir=/home/jobpath/{JOB}/output" in log
        assert volume.log(rank, "server.log")
    assert (volume.output / "pass-00009" / "done").exists()


def test_the_seeds_job_trains_to_the_end(default: Kubectl, seeds_volume: Volume) -> None:
    default.apply(manifest("rbac"), manifest("distributed"))
    await_state(default, "Complete")
    in_rank_order_all_trained(seeds_volume, default)
    for rank, pod in enumerate(pods(default)):
        name = pod["metadata"]["name"]
        assert told(default, name, "roster_complete")[0]["rank"] == rank
        assert told(default, name, "staged")[0]["source"] == f"/home/jobpath/{JOB}/{rank}/data"
        assert "[trainer " in default("logs", name)


def test_the_seeds_job_applied_again_after_a_delete_minds_no_stale_pod(
    default: Kubectl, seeds_volume: Volume
) -> None:
    default.apply(manifest("rbac"), manifest("distributed"))
    wait_until(lambda: len(pods(default)) == 3)
    default("delete", "job", JOB, "--wait=false")
    default("wait", "--for=delete", f"job/{JOB}", "--timeout=60s")
    default.apply(manifest("distributed"))
    await_state(default, "Complete")
    assert (seeds_volume.output / "pass-00009" / "done").exists()


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
        assert told(namespace, pod["metadata"]["name"], "launcher_finished")[0]["code"] == 69
    assert not claimed.output.exists()


def test_the_careful_job_trains_to_the_end(namespace: Kubectl, claimed: Volume) -> None:
    namespace.apply(manifest("rbac", namespace=namespace.namespace), manifest("distributed-careful"))
    await_state(namespace, "Complete")
    in_rank_order_all_trained(claimed, namespace)


def test_an_indexed_job_needs_no_access_to_the_api_under_the_restricted_standard(
    namespace: Kubectl, claimed: Volume
) -> None:
    """Own user, read-only root, no token; ranks are the indexes."""
    namespace("label", "namespace", namespace.namespace, "pod-security.kubernetes.io/enforce=restricted")
    namespace.apply(manifest("indexed"))
    await_state(namespace, "Complete", timeout=120)
    for pod in pods(namespace):
        index = pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]
        assert told(namespace, pod["metadata"]["name"], "roster_complete")[0]["rank"] == int(index)
    assert (claimed.output / "pass-00009" / "done").exists()


def test_pods_that_find_no_node_are_told_by_those_that_run_and_the_wait_ends_with_75(
    namespace: Kubectl, claimed: Volume
) -> None:
    text = manifest("distributed-careful", cpu='"1.5"', parallelism="4", completions="4").replace('"3"', '"4"')
    impatient = "name: LAUNCHER_JOIN_TIMEOUT\n          value: '15'\n        - name: LAUNCHER_GRACE"
    namespace.apply(manifest("rbac", namespace=namespace.namespace), text.replace("name: LAUNCHER_GRACE", impatient))
    running = wait_until(lambda: [pod for pod in pods(namespace) if pod["status"]["phase"] == "Failed"], timeout=90)
    message = ended(running[0])["message"]
    assert ended(running[0])["exitCode"] == 75
    assert "Insufficient cpu" in message
    assert claimed.job.exists()


def test_a_deleted_job_ends_all_pods_within_three_seconds(namespace: Kubectl, claimed: Volume) -> None:
    namespace.apply(manifest("rbac", namespace=namespace.namespace), manifest("distributed-careful"))
    wait_until(lambda: claimed.output.exists(), timeout=60)
    begun = time.monotonic()
    namespace("delete", "job", JOB)
    wait_until(lambda: not pods(namespace), timeout=30, every=0.1)
    assert time.monotonic() - begun < 3 + 2, "two seconds are the API's own"


def test_an_api_server_that_goes_away_disturbs_no_training(
    namespace: Kubectl, claimed: Volume, ground: Ground
) -> None:
    namespace.apply(manifest("rbac", namespace=namespace.namespace), manifest("distributed-careful"))
    wait_until(lambda: (claimed.output / "pass-00000").exists(), timeout=60)
    ground.api_server.stop()
    try:
        wait_until(lambda: (claimed.output / "pass-00009" / "done").exists(), timeout=60)
        with pytest.raises(KubectlFailed):
            namespace("get", "pods")
    finally:
        ground.api_server.start()
        ground.await_api()
    await_state(namespace, "Complete")
