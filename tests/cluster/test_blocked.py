"""Two gangs on nodes too small for both: each gets a part, is named, and goes on when the other is killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.files import user_of
from tests.cluster.kubectl import Kubectl
from tests.support.desks import User
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("images")

SLOT = "example.com~1slot"  # as a JSON pointer has it
# No pod is placed before the test lets it: the scheduler's own order depends on when it last tried each.
GATED = "spec: {schedulingGates: [{name: example.com/test}]}\n"


@pytest.fixture
def node(namespace: Kubectl) -> Iterator[str]:
    """A node with two slots, which no other has."""
    name = str(namespace.items("nodes")[0]["metadata"]["name"])
    slots(namespace, name, 2)
    yield name
    slots(namespace, name, 0)


def slots(namespace: Kubectl, node: str, number: int) -> None:
    change = [
        {"op": "add", "path": f"/status/{each}/{SLOT}", "value": str(number)} for each in ("capacity", "allocatable")
    ]
    namespace("patch", "node", node, "--subresource=status", "--type=json", "-p", json.dumps(change))


def begin(me: User, name: str, *words: str) -> None:
    said = me(
        "submit", "-jobname", name, "-runtime", "env", "-parallelism", "2", "-cpu", "50m", "-memory", "128Mi",
        "-gpu", "1", "-gpu-resource", "example.com/slot", "-entry", "sleep 1", *me.without("volume"), *words,
    )  # fmt: skip
    assert said.code == 0, said.err


def let_go(namespace: Kubectl, name: str, rank: int) -> None:
    """Let a pod be placed, as soon as it is there."""
    index = f"job-name={name},batch.kubernetes.io/job-completion-index={rank}"
    wait_until(lambda: namespace.items("pods", "--selector", index), timeout=60, every=0.2)
    (pod,) = namespace.items("pods", "--selector", index)
    change = [{"op": "remove", "path": "/spec/schedulingGates"}]
    namespace("patch", "pod", pod["metadata"]["name"], "--type=json", "-p", json.dumps(change))


def placed(namespace: Kubectl, name: str) -> tuple[int, int]:
    """Return how many of a job's pods run, and how many have been refused a place."""
    found: list[dict[str, Any]] = namespace.items("pods", "--selector", f"job-name={name}")
    refused = [
        each
        for pod in found
        for each in pod["status"].get("conditions", ())
        if "Insufficient example.com/slot" in each.get("message", "")
    ]
    return sum(pod["status"]["phase"] == "Running" for pod in found), len(refused)


def await_placed(namespace: Kubectl, each: tuple[int, int]) -> None:
    """Wait until both jobs have so many pods that run, and that have been refused a place."""
    wait_until(lambda: [placed(namespace, name) for name in ("one", "other")] == [each, each], timeout=60, every=0.2)


@pytest.mark.usefixtures("node")
def test_two_gangs_with_room_for_one_are_named_and_one_goes_on_without_the_other(
    namespace: Kubectl, tmp_path: Path
) -> None:
    me = user_of(namespace, tmp_path)
    gated = tmp_path / "gated.yaml"
    gated.write_text(GATED)
    for name in ("one", "other"):
        begin(me, name, "-pod", str(gated))
        let_go(namespace, name, 0)
    await_placed(namespace, (1, 0))
    assert "block each other" not in me("wait", "one", "--timeout", "1s").err
    for name in ("one", "other"):
        let_go(namespace, name, 1)
    await_placed(namespace, (1, 1))
    told = "block each other: 1 of 2 pods of"
    assert f"the jobs one and other {told} one" in me("wait", "one", "--timeout", "1s").err
    assert f"the jobs other and one {told} other" in me("describe", "other").out
    assert me("kill", "other").code == 0
    said = me("wait", "one", "--timeout", "120s", timeout=150)
    assert said.code == 0, said.err
