"""The seeds' job by docker-compose: three nodes that find each other by DNS, for real."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.grounds.docker import Docker
from tests.grounds.docker.compose import STAND_IN, Node, Project, programs, projected
from tests.support import articles
from tests.support.waiting import wait_until

# A first run makes the base and the images.
pytestmark = pytest.mark.timeout(900)

# One that failed before the others have looked would be missing among their peers.
ALL_HERE = """
touch "$JOB_PATH/here-$TRAINER_ID"
for rank in 0 1 2; do until [ -e "$JOB_PATH/here-$rank" ]; do sleep 0.1; done; done
"""


@pytest.fixture(scope="module", params=programs(), ids=" ".join)
def program(request: pytest.FixtureRequest) -> tuple[str, ...]:
    found: tuple[str, ...] = request.param
    return found


@pytest.fixture
def project(docker: Docker, program: tuple[str, ...], tmp_path: Path) -> Iterator[Project]:
    with projected(docker, program, tmp_path) as mine:
        yield mine


@pytest.fixture
def trained(project: Project) -> Project:
    """Give the project with the stand-in that trains."""
    project.example.symlink_to(STAND_IN)
    return project


@pytest.fixture(scope="module")
def done(docker: Docker, program: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Give a job of three nodes that has been trained to its end."""
    with projected(docker, program, tmp_path_factory.mktemp("done")) as mine:
        mine.example.symlink_to(STAND_IN)
        mine.up()
        codes(mine.nodes())
        yield mine


def codes(nodes: tuple[Node, ...]) -> list[int]:
    return [node.code for node in nodes]


def tree(output: Path) -> set[str]:
    return {str(path.relative_to(output)) for path in output.rglob("*") if path.is_file()}


def addresses(output: Path) -> list[str]:
    """Return each rank's address, as its pserver told it last."""
    logs = [(output / f"node_{rank}" / "server.log").read_text() for rank in range(len(list(output.glob("node_*"))))]
    return [re.findall(r"pserver started: ([\d.]+):7164", log)[-1] for log in logs]


def test_every_node_ends_with_0_and_leaves_the_seeds_tree(done: Project) -> None:
    assert codes(done.nodes()) == [0, 0, 0]
    assert tree(done.output) == articles.OUTPUT
    assert all("Pass=9" in (done.output / f"node_{rank}" / "train.log").read_text() for rank in range(3))


def test_ranks_are_the_places_in_the_addresses_sorted_as_text(done: Project) -> None:
    told = [node.event("roster_complete") for node in done.nodes()]
    assert addresses(done.output) == sorted(addresses(done.output))
    assert sorted(each["rank"] for each in told) == [0, 1, 2]
    assert len({each["digest"] for each in told}) == 1


def test_both_children_of_every_node_have_the_articles_command_lines(done: Project) -> None:
    for node in done.nodes():
        rank = node.event("roster_complete")["rank"]
        assert articles.started(node.log) == articles.commands(rank, addresses(done.output))


def test_every_rank_has_its_shard_which_was_there_before_any_node_started(done: Project) -> None:
    staged = {node.event("roster_complete")["rank"]: node.event("staged") for node in done.nodes()}
    assert {rank: (each["source"], each["files"]) for rank, each in staged.items()} == {
        rank: (f"/home/jobpath/paddle-cluster-job/{rank}/data", 1) for rank in range(3)
    }


def test_a_nodes_log_can_be_read(done: Project) -> None:
    for node in done.nodes():
        assert articles.unreadable(node.log) == []
        assert {"[pserver", "[trainer"} <= {line.split()[0] for line in node.log.splitlines()}


def test_up_works_twice_in_a_row(trained: Project) -> None:
    assert codes(trained.up()) == [0, 0, 0]
    first = (trained.output / "node_0" / "train.log").read_text()
    assert codes(trained.up()) == [0, 0, 0]
    second = (trained.output / "node_0" / "train.log").read_text()
    assert second.startswith(first)
    assert second.count("Pass=9 ") == 2


def test_five_nodes_and_then_three_again(trained: Project) -> None:
    assert codes(trained.up(nodes=5)) == [0] * 5
    assert len(addresses(trained.output)) == 5
    assert codes(trained.up(nodes=3)) == [0] * 3


def test_scale_says_the_number_as_well(trained: Project) -> None:
    assert codes(trained.up(4, "--scale", "node=4")) == [0] * 4


@pytest.mark.parametrize("code", [1, 65, 137])
def test_a_failing_trainers_code_comes_through(project: Project, code: int) -> None:
    project.play(f"{ALL_HERE}\nexit {code}")
    nodes = project.up()
    assert codes(nodes) == [code] * 3
    assert {node.event("launcher_finished")["code"] for node in nodes} == {code}


def stop(node: Node) -> float:
    """Stop a node as `docker stop` does, and return how many seconds that took."""
    begun = time.monotonic()
    node.docker.says("stop", "--time", "30", node.container)
    return time.monotonic() - begun


def test_a_node_that_trains_ends_within_3_s_of_docker_stop(project: Project) -> None:
    project.play("exec sleep 300")
    nodes = project.up()
    wait_until(lambda: all(node.event("child_started").get("child", "").startswith("trainer") for node in nodes), 30)
    running = {address for _, address in nodes[0].event("roster_complete")["running"]}
    assert running == {node.address for node in nodes}
    assert stop(nodes[1]) < 3
    assert nodes[1].code == 143
    assert nodes[1].event("launcher_finished")["code"] == 143


def test_a_node_that_waits_for_its_peers_ends_within_3_s_of_docker_stop(project: Project) -> None:
    project.play("exec sleep 300")
    (node,) = project.up(3, "--scale", "node=1")
    wait_until(lambda: "node has 1 addresses" in node.event("waiting_for_peers").get("reason", ""), timeout=30)
    assert stop(node) < 3
    assert node.code == 143
