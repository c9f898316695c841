"""Which gangs block each other, by what the API says of their pods."""

from __future__ import annotations

from typing import Any

import pytest

from launcher.desk.jobs import hindrance
from launcher.desk.jobs.job_state import KubePod, kube_pod

FULL = "0/3 nodes are available: 3 Insufficient example.com/slot. preemption: 0/3 nodes are available."
APART = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."


def pod(phase: str, *, ready: bool = False, leaving: bool = False, no_node: str = "") -> KubePod:
    scheduled = [{"type": "PodScheduled", "status": "False", "message": no_node}] if no_node else []
    conditions = [{"type": "Ready", "status": str(ready)}, *scheduled]
    metadata: dict[str, Any] = {"name": "p", **({"deletionTimestamp": "now"} if leaving else {})}
    spec = {} if no_node else {"nodeName": "n"}
    return kube_pod({"metadata": metadata, "spec": spec, "status": {"phase": phase, "conditions": conditions}})


WAITS, WORKS, LEAVES = pod("Running"), pod("Running", ready=True), pod("Running", leaving=True)
HOMELESS, ELSEWHERE, STARTS = pod("Pending", no_node=FULL), pod("Pending", no_node=APART), pod("Pending")
GOING = pod("Pending", no_node=FULL, leaving=True)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ((), False),
        ((WAITS, WAITS), False),
        ((WAITS, HOMELESS), True),
        ((HOMELESS, WAITS, WAITS), True),
        ((HOMELESS, HOMELESS), False),  # it holds nothing
        ((WORKS, HOMELESS), False),  # it goes on
        ((LEAVES, HOMELESS), False),
        ((WAITS, GOING), False),
        ((WAITS, STARTS), False),
        ((WAITS, ELSEWHERE), False),  # no room would help
    ],
)
def test_a_gang_is_half_placed_where_it_holds_something_and_wants_more(
    pods: tuple[KubePod, ...], expected: bool
) -> None:
    assert hindrance.half_placed(pods) is expected


HALF, WHOLE = (WAITS, HOMELESS), (WORKS, WORKS)


@pytest.mark.parametrize(
    ("gangs", "named"),
    [
        ({}, ""),
        ({"a": HALF}, ""),
        ({"a": HALF, "b": WHOLE}, ""),
        ({"a": WHOLE, "b": HALF}, ""),
        ({"b": HALF, "c": HALF}, ""),
        (
            {"c": HALF, "a": HALF},
            "the jobs a and c block each other: 1 of 2 pods of a, 1 of 2 pods of c run",
        ),
        ({"a": HALF, "b": HALF, "c": (WAITS, WAITS, HOMELESS)}, "the jobs a and b and c block each other: 1 of 2 "),
    ],
)
def test_two_half_placed_gangs_are_named(gangs: dict[str, tuple[KubePod, ...]], named: str) -> None:
    told = hindrance.blocked("a", gangs)
    assert told.startswith(named)
    assert bool(told) == bool(named)


def test_the_sentence_has_both_remedies() -> None:
    told = hindrance.blocked("a", {"a": HALF, "b": HALF})
    assert "`paddlectl kill b` makes room" in told
    assert "with -queue Kueue (https://kueue.sigs.k8s.io) lets each job begin only as a whole" in told
