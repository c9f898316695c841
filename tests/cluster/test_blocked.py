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
# The scheduler asks those of a higher priority first; without preemption what has a place keeps it.
FIRST = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "asked-first"},
    "value": 1000,
    "preemptionPolicy": "Never",
}


@pytest.fixture
def node(namespace: Kubectl) -> Iterator[str]:
    """A node, of which the slots are counted."""
    name = str(namespace.items("nodes")[0]["metadata"]["name"])
    namespace.apply(FIRST)
    yield name
    namespace("delete", "priorityclass", "asked-first")
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


def test_two_gangs_with_room_for_one_are_named_and_one_goes_on_without_the_other(
    namespace: Kubectl, node: str, tmp_path: Path
) -> None:
    me = user_of(namespace, tmp_path)
    slots(namespace, node, 1)
    begin(me, "one")
    wait_until(lambda: placed(namespace, "one") == (1, 1), timeout=60, every=0.2)
    begin(me, "other", "-priority", "asked-first")
    wait_until(lambda: placed(namespace, "other") == (0, 2), timeout=60, every=0.2)
    assert "block" not in me("wait", "one", "--timeout", "1s").err
    slots(namespace, node, 2)
    wait_until(lambda: placed(namespace, "other") == (1, 1), timeout=60, every=0.2)
    told = "block each other: 1 of 2 pods of"
    assert f"the jobs one and other {told} one" in me("wait", "one", "--timeout", "1s").err
    assert f"the jobs other and one {told} other" in me("describe", "other").out
    assert me("kill", "other").code == 0
    said = me("wait", "one", "--timeout", "120s", timeout=150)
    assert said.code == 0, said.err
