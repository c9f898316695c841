"""A node is drained on which two pods of a gang are: the leader and a member are told to stop at the same time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.cluster import gangs as ours
from tests.cluster.cluster import Cluster
from tests.cluster.gangs import HELD, HELD_AT, HOST, OF_JOB, gang_in, name_of
from tests.cluster.training import closed
from tests.cluster.volumes import JOB, Training
from tests.grounds.cluster import Ground
from tests.support.histories import TRAINER, Life

pytestmark = pytest.mark.usefixtures("images")
SAVES = 20.0  # seconds: two leases
LEASE = 10.0
NODE = "node-1"  # its pods have the first addresses, so that the leader is one of them
# Two there and one elsewhere: the third would be three more than on a node that has none.
PAIRED = {
    "topologySpreadConstraints": [{**OF_JOB, "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}],
    "affinity": {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 100,
                    "preference": {"matchExpressions": [{"key": HOST, "operator": "In", "values": [NODE]}]},
                }
            ]
        }
    },
}
DRAIN = ("drain", NODE, f"--pod-selector=job-name={JOB}", "--ignore-daemonsets", "--delete-emptydir-data")


def saving(rank: int) -> str:
    """Return the configuration of a gang whose one trainer saves when it is told to end; the others end at once."""
    return f"""{HELD}
import signal, sys

def save(*_):
    until = time.monotonic() + {SAVES}
    while time.monotonic() < until:
        time.sleep(0.05)
    sys.exit(143)

if os.environ.get("TRAINER_ID") == "{rank}":
    signal.signal(signal.SIGTERM, save)
"""


@pytest.fixture
def both(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Training, Training]]:
    """Two gangs, both begun."""
    with ExitStack() as stack:
        one, other = (
            stack.enter_context(gang_in(cluster, tmp_path_factory.mktemp("drained"), saving(rank))) for rank in (0, 1)
        )
        for training in (one, other):
            ours.begin(training, restarts=0, where=PAIRED)
        yield one, other


@pytest.fixture
def leader_saves(both: tuple[Training, Training]) -> Training:
    return both[0]


@pytest.fixture
def member_saves(both: tuple[Training, Training]) -> Training:
    return both[1]


def test_two_pods_of_a_drained_node_have_their_grace_and_the_others_go_on_with_new_ones(
    leader_saves: Training, member_saves: Training, ground: Ground
) -> None:
    """None of it is a restart, and nobody trains beside the one that saves."""
    both = (leader_saves, member_saves)
    before = [ours.await_training(training) for training in both]
    for found in before:
        assert [pod["spec"]["nodeName"] == NODE for pod in found] == [True, True, False]
    with closed(ground.kubectl, NODE):
        struck = time.monotonic()
        ground.kubectl(*DRAIN, "--timeout=60s", timeout=90)
        after = [ours.await_training(training, generation=2) for training in both]
    for saver, training in enumerate(both):
        assert name_of(before[saver][2]) in {name_of(pod) for pod in after[saver]}
        assert not {name_of(pod) for pod in before[saver][:2]} & {name_of(pod) for pod in after[saver]}
        ours.let_go(training)
    for saver, training in enumerate(both):
        ours.trained_to_the_end(training)
        made = [
            (each["generation"], each["resume"], each["restarts"]) for each in ours.story(training, "generation_made")
        ]
        assert made == [(1, None, 0), (2, HELD_AT - 1, 0)]
        first, second = trainers(training, 1), trainers(training, 2)
        ends = [life.last - struck for life in first]
        begins = min(life.began for life in second) - struck
        told = ", ".join(f"{end:.1f}" for end in ends)
        print(f"trainer {saver} saves: they ended after {told} s, all started again after {begins:.1f} s")
        assert SAVES <= ends[saver] < begins
        assert all(end < LEASE for rank, end in enumerate(ends) if rank != saver)
        ours.hold(training)


def trainers(training: Training, generation: int) -> list[Life]:
    """Return the trainers of a generation, by their ranks."""
    found = [life for life in ours.lives(training) if (life.role, life.generation) == (TRAINER, generation)]
    assert len(found) == 3
    return sorted(found, key=lambda life: life.rank)
