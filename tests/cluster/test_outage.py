"""One minute without an API server for three jobs: one waits, one trains, one's token is revoked meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.kubectl import KubectlFailed
from tests.cluster.training import await_state, begin_to_wait, closed, ended, manifest, pods, reasons, seed_two
from tests.cluster.volumes import Training, training_in
from tests.grounds.cluster import Ground
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("ground", "images")
OUTAGE = 60.0
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "own-token", "annotations": {"kubernetes.io/service-account.name": "default"}},
    "type": "kubernetes.io/service-account-token",
}


@pytest.fixture(scope="module")
def waiting(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    """Where a job waits for its third pod, which finds no node."""
    with training_in(cluster, tmp_path_factory.mktemp("waiting")) as training:
        yield training


@pytest.fixture(scope="module")
def revoked(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    """Where a job waits likewise, with a token that lives as long as a Secret."""
    with training_in(cluster, tmp_path_factory.mktemp("revoked")) as training:
        yield training


@pytest.fixture(scope="module")
def training(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    """Where a job trains, for a part of the minute."""
    with training_in(cluster, tmp_path_factory.mktemp("training"), samples=15_000) as training:
        yield training


@pytest.fixture(scope="module")
def trained_meanwhile(
    cluster: Cluster, ground: Ground, waiting: Training, revoked: Training, training: Training
) -> bool:
    """The minute, and whether the training came to its end in it."""
    with closed(cluster.kubectl, "node-3"):
        waiting.kubectl.apply(seed_two(waiting.kubectl))
        revoked.kubectl.apply(TOKEN)
        revoked.kubectl.apply(with_own_token(seed_two(revoked.kubectl, port=30002)))
        begin_to_wait(waiting.kubectl)
        first = begin_to_wait(revoked.kubectl)
        begin_to_train(training)
        revoked.kubectl("delete", "secret", "own-token")
        with ground.without_api():
            trained = came_to_its_end(training, [waiting, revoked])
        wait_until(lambda: "answers 401" in reasons(revoked.kubectl, first), timeout=120, every=1)
        revoked.kubectl.apply(TOKEN)
    return trained


def with_own_token(job: str) -> str:
    """Return the job with the Secret's token in the place of the one that the kubelet would ask for."""
    volume = "      volumes:\n      - {name: token, secret: {secretName: own-token}}\n"
    mount = f"        volumeMounts:\n        - {{name: token, mountPath: {ACCOUNT}}}\n"
    return job.replace("      volumes:\n", volume).replace("        volumeMounts:\n", mount)


def begin_to_train(training: Training) -> None:
    """Start the careful job, and wait for its first pass."""
    role = manifest("rbac", namespace=training.kubectl.namespace)
    training.kubectl.apply(role, manifest("distributed-careful"))
    wait_until(lambda: (training.volume.output / "pass-00000").exists(), timeout=60)


def came_to_its_end(training: Training, waiting: Sequence[Training]) -> bool:
    """See for a minute that those who wait begin nothing; return whether the training came to its end meanwhile."""
    last = training.volume.output / "pass-00009" / "done"
    assert not last.exists()
    with pytest.raises(KubectlFailed, match="refused"):
        training.kubectl("get", "pods")
    with pytest.raises(AssertionError):  # nothing happens, which is what is to be seen
        wait_until(lambda: any(each.volume.output.exists() for each in waiting), timeout=OUTAGE, every=1)
    return last.exists()


def trained_to_the_end(training: Training) -> None:
    await_state(training.kubectl, "Complete", timeout=120)
    found = pods(training.kubectl)
    assert [ended(pod)["exitCode"] for pod in found] == [0, 0, 0]
    assert [pod["status"]["containerStatuses"][0]["restartCount"] for pod in found] == [0, 0, 0]
    assert (training.volume.output / "pass-00009" / "done").exists()


def test_a_job_that_trains_goes_on_and_comes_to_its_end(training: Training, trained_meanwhile: bool) -> None:
    assert trained_meanwhile
    trained_to_the_end(training)


@pytest.mark.usefixtures("trained_meanwhile")
def test_a_job_that_waits_says_so_and_trains_when_the_last_pod_comes(waiting: Training) -> None:
    trained_to_the_end(waiting)
    said = [reasons(waiting.kubectl, pod["metadata"]["name"]) for pod in pods(waiting.kubectl)]
    assert ["cannot be reached" in each for each in said].count(True) == 2


@pytest.mark.usefixtures("trained_meanwhile")
def test_a_token_that_is_revoked_and_replaced_ends_no_wait(revoked: Training) -> None:
    """The token of a Secret dies with the Secret, and the kubelet brings the new one's."""
    trained_to_the_end(revoked)
    said = [reasons(revoked.kubectl, pod["metadata"]["name"]) for pod in pods(revoked.kubectl)]
    assert ["answers 401" in each for each in said].count(True) == 2
