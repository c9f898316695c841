"""Each folder of k8s/ as it stands, but for the image's name: taken by the API, and trained where it trains."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.kubectl import Kubectl, KubectlFailed
from tests.cluster.pods import pod
from tests.cluster.training import await_state, ended, log_of, manifest, pods, told, uid
from tests.cluster.volumes import JOB, Training, Volume, claimed_by, training_in
from tests.support import articles
from tests.support.manifests import FOLDERS, JOBS
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("ground", "images")
# The strictest pod security standard that a folder keeps: a hostPath or a host port keeps none.
STANDARDS = {
    "any-image": "restricted", "data": "baseline", "distributed-careful": "baseline", "elastic": "restricted",
    "frameworks": "restricted", "indexed": "restricted", "separated": "baseline",
}  # fmt: skip
STRICTER = {"privileged": "baseline", "baseline": "restricted"}


@pytest.fixture(scope="module")
def indexed(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    """The folder `indexed`, begun, where the `restricted` standard is enforced and no Role is."""
    with training_in(cluster, tmp_path_factory.mktemp("indexed")) as training:
        kubectl = training.kubectl
        kubectl("label", "namespace", kubectl.namespace, "pod-security.kubernetes.io/enforce=restricted")
        kubectl.apply(manifest("indexed"))
        yield training


@pytest.fixture(scope="module")
def separated(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    """The folder `separated`, begun."""
    with training_in(cluster, tmp_path_factory.mktemp("separated")) as training:
        training.kubectl.apply(manifest("rbac", namespace=training.kubectl.namespace), manifest("separated"))
        yield training


@pytest.fixture(scope="module")
def careful(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    """The folder `distributed-careful`, begun."""
    with training_in(cluster, tmp_path_factory.mktemp("careful")) as training:
        text = manifest("distributed-careful")
        training.kubectl.apply(manifest("rbac", namespace=training.kubectl.namespace), text)
        yield training


@pytest.fixture(scope="module", autouse=True)
def at_once(indexed: Training, separated: Training, careful: Training) -> None:
    """All three, before any is waited for: an Indexed Job's names stay unknown for the DNS's 30 s."""


@pytest.fixture
def efs(default: Kubectl, tmp_path: Path) -> Iterator[Volume]:
    """A directory of all nodes in the place of the volume on EFS, whose CSI driver needs AWS."""
    with claimed_by(default, "efs", tmp_path, name="efs") as volume:
        yield volume


def trained_as_in_the_articles(kubectl: Kubectl, volume: Volume, threads: int) -> None:
    """Hold all that the articles show: ranks, shards, command lines, the output's tree, logs to read, exit codes."""
    found = [each for each in pods(kubectl) if "deletionTimestamp" not in each["metadata"]]
    addresses = [each["status"]["podIP"] for each in found]
    assert len(found) == 3
    for rank, each in enumerate(found):
        assert told(kubectl, each, "roster_complete")[0]["rank"] == rank
        assert told(kubectl, each, "staged")[0]["source"] == f"/home/jobpath/{JOB}/{rank}/data"
        log = log_of(kubectl, each)
        assert articles.started(log) == articles.commands(rank, addresses, threads)
        assert articles.unreadable(log) == []
        assert ended(each)["exitCode"] == 0
    assert volume.tree() == articles.OUTPUT | articles.record(uid(kubectl))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_api_takes_a_folder_without_a_warning_under_the_standard_that_it_keeps(
    namespace: Kubectl, folder: Path
) -> None:
    standard = STANDARDS.get(folder.name, "privileged")
    label = ("label", "--overwrite", "namespace", namespace.namespace)
    dry = ("apply", "--dry-run=server", "--warnings-as-errors", "--filename", folder)
    namespace(*label, f"pod-security.kubernetes.io/warn={standard}")
    assert namespace(*dry).count("(server dry run)") == len(list(folder.glob("*.yaml")))
    if standard in STRICTER and any(job.path.parent == folder for job in JOBS):
        namespace(*label, f"pod-security.kubernetes.io/warn={STRICTER[standard]}")
        with pytest.raises(KubectlFailed, match=f'would violate PodSecurity "{STRICTER[standard]}'):
            namespace(*dry)


def test_distributed_trains_as_in_the_article(default: Kubectl, seeds_volume: Volume) -> None:
    default.apply(manifest("rbac"), manifest("distributed"))
    await_state(default, "Complete")
    trained_as_in_the_articles(default, seeds_volume, threads=4)


def test_distributed_applied_again_after_a_delete_minds_no_stale_pod(default: Kubectl, seeds_volume: Volume) -> None:
    default.apply(manifest("rbac"), manifest("distributed"))
    wait_until(lambda: len(pods(default)) == 3)
    default("delete", "job", JOB, "--wait=false")
    default("wait", "--for=delete", f"job/{JOB}", "--timeout=60s")
    default.apply(manifest("distributed"))
    await_state(default, "Complete")
    trained_as_in_the_articles(default, seeds_volume, threads=4)


def test_aws_trains_as_in_the_article_one_pod_a_node(default: Kubectl, efs: Volume) -> None:
    default.apply(manifest("rbac"), manifest("aws", "claim.yaml", "job.yaml", "network-policy.yaml"))
    await_state(default, "Complete")
    trained_as_in_the_articles(default, efs, threads=4)
    assert {each["spec"]["nodeName"] for each in pods(default)} == {"node-1", "node-2", "node-3"}


def test_distributed_careful_trains_to_the_end(careful: Training) -> None:
    await_state(careful.kubectl, "Complete")
    trained_as_in_the_articles(careful.kubectl, careful.volume, threads=1)


def test_separated_trainers_train_to_the_end_and_the_pservers_end_with_them(separated: Training) -> None:
    kubectl, volume = separated.kubectl, separated.volume
    await_state(kubectl, "Complete", f"{JOB}-trainer")
    await_state(kubectl, "Complete", f"{JOB}-pserver")
    pservers = pods(kubectl, "paddle-job-pserver=paddle-cluster-job")
    trainers = pods(kubectl, "paddle-job=paddle-cluster-job")
    addresses = ",".join(each["status"]["podIP"] for each in pservers)
    assert [list(articles.started(log_of(kubectl, each))) for each in pservers] == [["pserver"]] * 2
    assert [ended(each)["exitCode"] for each in (*pservers, *trainers)] == [0] * 5
    for rank, each in enumerate(trainers):
        words = articles.started(log_of(kubectl, each))["trainer"]
        assert {f"--trainer_id={rank}", f"--pservers={addresses}", "--num_gradient_servers=3"} <= set(words)
    logs = {f"node_{rank}/train.log" for rank in range(3)} | {f"node_{rank}/server.log" for rank in range(2)}
    passes = {name for name in articles.OUTPUT if name.startswith("pass-")}
    record = articles.record(uid(kubectl, f"{JOB}-trainer"))
    assert volume.tree() == logs | passes | record | {"events.jsonl"}


def test_indexed_trains_without_any_right_under_the_restricted_standard(indexed: Training) -> None:
    """Own user, read-only root, no token; ranks are the indexes."""
    kubectl = indexed.kubectl
    account = f"--as=system:serviceaccount:{kubectl.namespace}:default"
    with pytest.raises(KubectlFailed, match="no\n"):
        kubectl("auth", "can-i", "list", "pods", account)
    with pytest.raises(KubectlFailed, match='violates PodSecurity "restricted'):
        kubectl.apply(pod("careless", "true"))
    await_state(kubectl, "Complete", timeout=120)
    for each in pods(kubectl):
        (container,) = each["spec"]["containers"]
        assert each["spec"]["securityContext"]["runAsUser"] == 10001
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert not [mount for mount in container["volumeMounts"] if "serviceaccount" in mount["mountPath"]]
        index = each["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]
        assert told(kubectl, each, "roster_complete")[0]["rank"] == int(index)
        assert articles.unreadable(log_of(kubectl, each)) == []
    assert indexed.volume.tree() == articles.OUTPUT | articles.record(uid(kubectl))
    assert {path.stat().st_uid for path in indexed.volume.output.rglob("*")} == {10001}
