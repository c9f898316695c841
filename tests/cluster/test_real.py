"""Real training: Paddle's own parameter servers, started by the seeds' Jobs and by the careful ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import gangs
from tests.cluster.cluster import Cluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.real import (
    PASSES,
    V1_PASSES,
    await_pass,
    has_learned,
    has_passed,
    is_the_seeds_tree,
    real_training_in,
    with_fleet,
)
from tests.cluster.training import await_state, ended, manifest, pods, uid
from tests.cluster.volumes import JOB, Training, Volume, claimed_by, volume_at
from tests.grounds.docker import PADDLE
from tests.support import articles
from tests.support.recommendation import furnish
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("ground", "with_paddle")

LIMIT = 240.0
QUICKSTART_OUTPUT = Path("/home/work/paddle_output")
TESTED = re.compile(r" Test samples=\d+ .*classification_error_evaluator=(\S+)")
QUICKSTART_MARGIN = 0.1  # below a coin's error: the words' weights alone come to 0.34, half of the reviews are good


@pytest.fixture(scope="module")
def indexed(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    """The folder `indexed`, begun, where the `restricted` standard is enforced."""
    with real_training_in(cluster, tmp_path_factory.mktemp("indexed")) as training:
        kubectl = training.kubectl
        kubectl("label", "namespace", kubectl.namespace, "pod-security.kubernetes.io/enforce=restricted")
        kubectl.apply(with_fleet("indexed"))
        yield training


@pytest.fixture(scope="module")
def separated(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    """The folder `separated`, begun."""
    with real_training_in(cluster, tmp_path_factory.mktemp("separated")) as training:
        training.kubectl.apply(manifest("rbac", namespace=training.kubectl.namespace), with_fleet("separated"))
        yield training


@pytest.fixture(scope="module")
def struck(indexed: Training) -> str:
    """The name of a pod of that one's, deleted in the third pass."""
    await_pass(indexed.volume, 1)
    victim = str(pods(indexed.kubectl)[1]["metadata"]["name"])
    indexed.kubectl("delete", "pod", victim, "--wait=false")
    return victim


@pytest.fixture(scope="module", autouse=True)
def at_once(separated: Training, struck: str) -> None:
    """Both, before any is waited for: the name of a pod that was replaced leads nowhere for the DNS's 30 s."""


@pytest.fixture
def efs(default: Kubectl, tmp_path: Path) -> Iterator[Volume]:
    """A directory of all nodes in the place of the volume on EFS."""
    with claimed_by(default, "efs", tmp_path, name="efs") as volume:
        furnish(volume.job, "--layout=data")
        yield volume


def test_separated_pservers_and_trainers_train_with_fleet(separated: Training) -> None:
    await_state(separated.kubectl, "Complete", f"{JOB}-trainer", timeout=LIMIT)
    await_state(separated.kubectl, "Complete", f"{JOB}-pserver", timeout=LIMIT)
    is_the_seeds_tree(separated.volume, PASSES, pservers=2)
    has_learned(separated.volume, PASSES)


def test_the_first_articles_job_trains_by_the_v1_command(default: Kubectl, seeds_volume: Volume) -> None:
    furnish(seeds_volume.job)
    default.apply(manifest("rbac"), manifest("distributed", image=PADDLE))
    await_state(default, "Complete", timeout=LIMIT)
    assert [ended(each)["exitCode"] for each in pods(default)] == [0, 0, 0]
    is_the_seeds_tree(seeds_volume, V1_PASSES)
    has_learned(seeds_volume, V1_PASSES)


def test_a_job_deleted_in_pass_4_and_applied_again_goes_on_from_there(default: Kubectl, efs: Volume) -> None:
    """As the article on AWS has it: a pod a node, data/<rank>."""
    job = manifest("aws", "claim.yaml", "job.yaml", "network-policy.yaml", image=PADDLE)
    default.apply(manifest("rbac"), job)
    await_pass(efs, 3)
    default("delete", "job", JOB, "--wait=false")
    default("wait", "--for=delete", f"job/{JOB}", "--timeout=60s")
    wait_until(lambda: not pods(default), timeout=30)
    begun = next(number for number in range(V1_PASSES) if not has_passed(efs, number))
    assert begun in {4, 5}, "it was deleted in pass 4, or in the moment of its end"
    default.apply(job)
    await_state(default, "Complete", timeout=LIMIT)
    own = pods(default, f"batch.kubernetes.io/controller-uid={uid(default)}")
    for each in own:
        assert f"--start_pass={begun}" in articles.started(default("logs", each["metadata"]["name"]))["trainer"]
    assert {each["spec"]["nodeName"] for each in own} == {"node-1", "node-2", "node-3"}
    is_the_seeds_tree(efs, V1_PASSES)
    has_learned(efs, V1_PASSES)


def test_the_quick_starts_job_trains_15_passes_in_one_pod(default: Kubectl) -> None:
    with volume_at(QUICKSTART_OUTPUT) as volume:
        default.apply(manifest("quickstart"))
        await_state(default, "Complete", "quickstart", timeout=LIMIT)
        log = default("logs", "job/quickstart")
        assert {path.name for path in volume.path.iterdir()} >= {f"pass-{number:05}" for number in range(15)}
        told = [float(error) for error in TESTED.findall(log)]
        print(f"error by pass {told}")
        assert len(told) == 15
        assert told[-1] < 0.5 - QUICKSTART_MARGIN


def test_a_pod_deleted_in_an_indexed_job_costs_no_more_than_the_pass(indexed: Training, struck: str) -> None:
    """Under the restricted standard: another user, and a root that is only to read."""
    kubectl, volume = indexed.kubectl, indexed.volume
    await_state(kubectl, "Complete", timeout=LIMIT)
    first, second = gangs.story(indexed, "generation_made")
    assert (first["resume"], second["restarts"]) == (None, 0), "a deleted pod is told to stop"
    assert second["resume"] >= 1
    assert struck not in {each["metadata"]["name"] for each in pods(kubectl) if ended(each)["exitCode"] == 0}
    is_the_seeds_tree(volume, PASSES)
    has_learned(volume, PASSES)
