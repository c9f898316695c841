"""Gangs whose ground gives way: a node without power, and a failure while the API server is away."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import pytest

from tests.cluster import gangs as ours
from tests.cluster.cluster import Cluster
from tests.cluster.gangs import Json, gang_in, name_of
from tests.cluster.training import await_state, ended, pods
from tests.cluster.volumes import JOB, Training
from tests.grounds.cluster import Ground
from tests.grounds.cluster.ground import ready
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("ground", "images")


@pytest.fixture(scope="module")
def both(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Training, Training]]:
    """Two gangs, both begun."""
    with ExitStack() as stack:
        made = [stack.enter_context(gang_in(cluster, tmp_path_factory.mktemp(name))) for name in ("alone", "dark")]
        for training in made:
            ours.begin(training)
        yield made[0], made[1]


@pytest.fixture
def alone(both: tuple[Training, Training]) -> Iterator[Training]:
    """The gang that the API server leaves alone; what its programs note is held."""
    yield both[0]
    ours.hold(both[0])


@pytest.fixture
def dark(both: tuple[Training, Training]) -> Iterator[Training]:
    """The gang that loses a node; what its programs note is held."""
    yield both[1]
    ours.hold(both[1])


def trainer_in(pod: Json) -> psutil.Process:
    """Return a pod's trainer: its processes are seen from this machine, and know their host's name."""
    found = []
    for process in psutil.process_iter():
        try:
            if "train" in process.cmdline()[:4] and process.environ().get("HOSTNAME") == name_of(pod):
                found.append(process)
        except psutil.Error:
            continue
    (trainer,) = found
    return trainer


def test_a_trainer_killed_while_the_api_server_is_away_is_started_again_in_place(
    alone: Training, ground: Ground
) -> None:
    before = ours.await_training(alone)
    trainer = trainer_in(before[1])
    with ground.without_api():
        struck = ours.now()
        os.kill(trainer.pid, signal.SIGKILL)
        wait_until(lambda: generations(alone) == [1, 2], timeout=60, every=0.05)
        wait_until(lambda: len(trainers_start(alone)) == 6, timeout=60, every=0.05)
        ours.let_go(alone)
        wait_until(lambda: ours.passed(alone, 9), timeout=60)
    await_state(alone.kubectl, "Complete", timeout=120)
    after = pods(alone.kubectl)
    assert {name_of(pod) for pod in after} == {name_of(pod) for pod in before}
    assert [pod["status"]["containerStatuses"][0]["restartCount"] for pod in after] == [0, 0, 0]
    began_after = ours.seconds_to(alone, struck, "child_started", after)
    print(f"all trainers started again {began_after:.2f} s after the kill")
    assert [ended(pod)["exitCode"] for pod in after] == [0, 0, 0]


def test_a_lost_node_s_pod_is_replaced_on_another_and_all_go_on(dark: Training, ground: Ground) -> None:
    kubectl = dark.kubectl
    before = ours.await_training(dark)
    lost = before[1]["spec"]["nodeName"]
    node = ground.node(int(lost.removeprefix("node-")))
    gone = {name_of(pod) for pod in before if pod["spec"]["nodeName"] == lost}
    struck = ours.now()
    ground.cut(node.number)  # first: a dying process has its connections closed, and a node without power has not
    node.stop()
    try:
        after = ours.await_training(dark, generation=2, timeout=120)
        began_after = ours.seconds_to(dark, struck, "child_started", after)
        (why,) = [each["reason"] for each in ours.story(dark, "lost")]
        print(f"all trainers started again {began_after:.2f} s after the node's end: {why}")
        assert not gone & {name_of(pod) for pod in after}
        assert lost not in {pod["spec"]["nodeName"] for pod in after}
        ours.let_go(dark)
        wait_until(lambda: "SuccessCriteriaMet" in conditions(dark), timeout=60, every=0.25)
        assert ours.passed(dark, 9)
    finally:
        node.start()
        wait_until(lambda: ready(ground.kubectl, node.name), timeout=60, every=0.3)
    # Only when no pod of it is still ending: that of the lost node is gone when the node is back.
    await_state(kubectl, "Complete", timeout=120)
    assert [ended(pod)["exitCode"] for pod in pods(kubectl) if name_of(pod) not in gone] == [0, 0, 0]


def conditions(training: Training) -> set[str]:
    """Return what is said of the Job."""
    found = training.kubectl.get("job", JOB)["status"].get("conditions", [])
    return {each["type"] for each in found if each["status"] == "True"}


def generations(training: Training) -> list[int]:
    """Return the generations that were made."""
    return [each["generation"] for each in ours.story(training, "generation_made")]


def trainers_start(training: Training) -> list[Json]:
    """Return each beginning of training, of any rank."""
    return [each for each in ours.story(training, "phase") if each["phase"] == "training"]
