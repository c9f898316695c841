"""Two gangs, of which each has what the other waits for, are named by `wait` and `describe`."""

from __future__ import annotations

from typing import Any

from tests.grounds.api.control_plane import ControlPlane
from tests.process.desk.test_paddlectl import RUNNING, pods
from tests.support.desks import User
from tests.support.waiting import wait_until

WAITING: dict[str, Any] = {**RUNNING, "conditions": [{"type": "Ready", "status": "False"}]}
FULL = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
HOMELESS: dict[str, Any] = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": FULL}],
}


def begin(plane: ControlPlane, me: User, name: str) -> tuple[str, ...]:
    """Submit a job of two pods, and return their names."""
    words = ("-jobname", name, "-runtime", "torch", "-parallelism", "2", "-gpu", "1", "-entry", "python t.py")
    assert me("submit", *words).code == 0
    wait_until(lambda: len(pods(plane, me, f"{name}-")) == 2, timeout=30, every=0.1)
    return tuple(pods(plane, me, f"{name}-"))


def test_two_half_placed_gangs_are_named_until_one_of_them_is_whole(plane: ControlPlane, me: User) -> None:
    for name in ("one", "other"):
        first, second = begin(plane, me, name)
        plane.become(me.namespace, first, WAITING)
        plane.become(me.namespace, second, HOMELESS)
    told = (
        "the jobs one and other block each other: 1 of 2 pods of one, 1 of 2 pods of other run and wait, and no node "
        "has room for the others; `paddlectl kill other` makes room, and with -queue Kueue"
    )
    said = me("wait", "one", "--timeout", "2s")
    assert (said.code, said.err.count(told)) == (1, 1), said.err
    assert "the jobs other and one block each other" in me("describe", "other").out
    for name in pods(plane, me, "other-"):
        plane.become(me.namespace, name, RUNNING)
    said = me("wait", "one", "--timeout", "1s")
    assert (said.code, "block" in said.err) == (1, False), said.err
    assert "block" not in me("describe", "one").out
