"""A plain Job of ours in a queue of the real Kueue: admitted in part, preempted, and resumed at another width.

Run by `make elastic`: Kueue takes three minutes to build.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.cluster.elastic.queues import URGENT, a_queue, put_in_queue, urgent
from tests.cluster.elastic.wide import NAME, await_width, made, me, restarts, told, wide
from tests.cluster.kubectl import Kubectl, KubectlFailed
from tests.cluster.training import await_state, manifest
from tests.cluster.volumes import Volume
from tests.grounds.cluster import Ground, NoGround
from tests.grounds.controllers import KUEUE, beside
from tests.support.desks import User
from tests.support.waiting import wait_until

__all__ = ["me"]
pytestmark = pytest.mark.usefixtures("box", "images")

CPU = 100  # thousandths of a processor, of a pod
WATCHED = 50  # passes of a third of a second


@pytest.fixture(scope="module", autouse=True)
def kueue(ground: Ground) -> Iterator[None]:
    """Kueue, beside the API server."""
    try:
        with beside(ground, KUEUE):
            yield
    except NoGround as fault:
        pytest.skip(str(fault))
    # Or no Job could be made any more.
    kinds = "customresourcedefinitions,validatingwebhookconfigurations,mutatingwebhookconfigurations"
    assert "kueue" not in ground.kubectl("get", kinds, "--output", "name")


@pytest.fixture
def queue(namespace: Kubectl) -> Iterator[None]:
    """A queue with room for three pods."""
    with a_queue(namespace, cpu=CPU):
        yield


def admit_anew(kubectl: Kubectl) -> None:
    """Take ours out of the queue and put it back: what is admitted in part is not widened otherwise."""
    # The other one's is away a moment after its Job.
    (workload,) = wait_until(lambda: found if len(found := kubectl.items("workloads")) == 1 else [], timeout=30)

    def suspended() -> bool:
        return bool(kubectl.get("job", NAME)["spec"]["suspend"])

    for active in (False, True):
        change = json.dumps({"spec": {"active": active}})
        kubectl("patch", "workload", workload["metadata"]["name"], "--type=merge", "-p", change)
        wait_until(lambda: suspended() != active, timeout=60, every=0.2)  # noqa: B023  # asked at once


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Tell how long something took."""
    since = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - since:.1f} s")


def names(kubectl: Kubectl) -> set[str]:
    """Return the names of the pods that are there."""
    return {pod["metadata"]["name"] for pod in kubectl.items("pods")}


def queued(me: User, most: int) -> list[dict[str, Any]]:
    """Return a job of ours in the queue, of which a part may be admitted."""
    objects = made(me, most=most)
    (ours,) = [each for each in objects if each["kind"] == "Job"]
    put_in_queue(ours, least=1)
    return objects


@pytest.mark.usefixtures("queue")
def test_the_desk_scales_a_queued_job_by_suspending_it_and_says_so(
    namespace: Kubectl, me: User, claimed: Volume
) -> None:
    namespace.apply(manifest("rbac", namespace=namespace.namespace), *queued(me, 3))
    await_width(claimed, 3)
    refused = me("scale", NAME, "2")
    assert (refused.code, "Kueue refuses another number of pods while it runs: with --suspend" in refused.err) == (
        1,
        True,
    )
    for width in (2, 3):
        before = names(namespace)
        with timed(f"scale --suspend to {width} -> a pass by {width}"):
            said = me("scale", NAME, str(width), "--suspend", timeout=60)
            assert (said.code, f"starts it again with {width} pods" in said.err) == (0, True), said.err
            # In a suspension, too, a pass may be one of fewer: of those that are not told yet.
            wait_until(lambda: not before & names(namespace), timeout=60, every=0.2)  # noqa: B023  # asked at once
            await_width(claimed, width, after=len(told(claimed)))
    (claimed.path / "enough").touch()
    await_state(namespace, "Complete", name=NAME)
    assert restarts(claimed) == 0


@pytest.mark.usefixtures("queue")
def test_a_job_admitted_in_part_is_preempted_and_resumes_narrower_unattended(
    namespace: Kubectl, me: User, claimed: Volume
) -> None:
    namespace.apply(manifest("rbac", namespace=namespace.namespace), *queued(me, 5))
    await_width(claimed, 3)
    with pytest.raises(KubectlFailed, match="cannot change when partial admission is enabled"):
        wide(namespace, 2)
    with timed("preempted -> a pass by 2"):
        namespace.apply(urgent(cpu=CPU))
        await_width(claimed, 2)
    namespace("delete", "job", URGENT)
    passes = len(told(claimed))
    wait_until(lambda: len(told(claimed)) > passes + WATCHED, timeout=60, every=0.5)
    assert told(claimed)[-1][1] == 2, "Kueue widens by now what it admitted in part: the docs say that it does not"
    with timed("taken out of the queue and put back -> a pass by 3"):
        admit_anew(namespace)
        await_width(claimed, 3)
    (claimed.path / "enough").touch()
    await_state(namespace, "Complete", name=NAME)
    assert restarts(claimed) == 0


def test_a_job_suspended_by_hand_resumes_at_another_width(namespace: Kubectl, me: User, claimed: Volume) -> None:
    namespace.apply(manifest("rbac", namespace=namespace.namespace), *made(me, most=3))
    await_width(claimed, 3)
    wide(namespace, 3, suspend=True)
    wait_until(lambda: not namespace.items("pods"), timeout=60, every=0.5)
    passes = len(told(claimed))  # the last one may be one of fewer
    with timed("resumed -> a pass by 2"):
        wide(namespace, 2, suspend=False)
        await_width(claimed, 2, after=passes)
    (claimed.path / "enough").touch()
    await_state(namespace, "Complete", name=NAME)
    assert restarts(claimed) == 0
