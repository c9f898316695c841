"""A queue of Kueue with room for three pods, a job of ours in it, and one that goes before it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.cluster.kubectl import Kubectl
from tests.cluster.pods import job, spec

Json = dict[str, Any]

QUEUE, URGENT = "mine", "urgent"
ROOM = 3  # pods
RESOURCES = ("cpu", "memory")


@contextmanager
def a_queue(kubectl: Kubectl, *, cpu: int) -> Iterator[None]:
    """Make a queue with room for pods of so many thousandths of a processor, and a class of work that goes first."""
    kubectl.apply(*_made(kubectl.namespace, ROOM * cpu))
    kubectl("wait", "--for=condition=Active", "localqueue", QUEUE, "--timeout=30s")
    try:
        yield
    finally:
        for kinds in ("job", "localqueue,clusterqueue,resourceflavor,workloadpriorityclass"):
            kubectl("delete", kinds, "--all", "--timeout=60s", timeout=90)


def put_in_queue(ours: Json, *, least: int) -> None:
    """Put a Job into the queue, of which as few as so many pods may be admitted."""
    ours["metadata"].setdefault("labels", {})["kueue.x-k8s.io/queue-name"] = QUEUE
    ours["metadata"].setdefault("annotations", {}).update(
        {"kueue.x-k8s.io/job-min-parallelism": str(least), "kueue.x-k8s.io/job-completions-equal-parallelism": "true"}
    )


def urgent(*, cpu: int) -> Json:
    """Return a Job of one pod that goes before ours, and does not end."""
    requests = {"resources": {"requests": {"cpu": f"{cpu}m", "memory": "16Mi"}}}
    found = job(URGENT, spec("sleep 1000 & wait", container=requests), parallelism=1, completions=1)
    found["metadata"]["labels"] = {
        "kueue.x-k8s.io/queue-name": QUEUE,
        "kueue.x-k8s.io/priority-class": URGENT,
    }
    return found


def _made(namespace: str, cpu: int) -> tuple[Json, ...]:
    quotas = [{"name": "cpu", "nominalQuota": f"{cpu}m"}, {"name": "memory", "nominalQuota": "64Gi"}]
    group = {"coveredResources": list(RESOURCES), "flavors": [{"name": "any", "resources": quotas}]}
    preemption = {"withinClusterQueue": "LowerPriority"}
    ours = {"namespaceSelector": {}, "resourceGroups": [group], "preemption": preemption}
    local = _kueues("LocalQueue", QUEUE, spec={"clusterQueue": "ours"})
    local["metadata"]["namespace"] = namespace
    return (
        _kueues("ResourceFlavor", "any"),
        _kueues("ClusterQueue", "ours", spec=ours),
        local,
        _kueues("WorkloadPriorityClass", URGENT, value=1000),
    )


def _kueues(kind: str, name: str, **more: object) -> Json:
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": kind, "metadata": {"name": name}, **more}
