"""Pods and Jobs for tests of the ground itself, and waiting for them."""

from __future__ import annotations

from typing import Any

from tests.cluster.kubectl import Kubectl
from tests.grounds.cluster.images import BOX
from tests.support.waiting import wait_until

LABELS = {"app": "box"}
# A lost node's pods go after 5 s, not 300.
IMPATIENT = [
    {"key": f"node.kubernetes.io/{fault}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    for fault in ("not-ready", "unreachable")
]


def spec(script: str, *, node: str = "", container: dict[str, Any] | None = None, **more: object) -> dict[str, Any]:
    """Return a pod's spec with one container that runs a script."""
    box = {"name": "box", "image": BOX, "imagePullPolicy": "Never", "args": [script], **(container or {})}
    where = {"nodeSelector": {"kubernetes.io/hostname": node}} if node else {}
    return {"restartPolicy": "Never", "tolerations": IMPATIENT, "containers": [box], **where, **more}


def pod(name: str, script: str, *, node: str = "", **more: Any) -> dict[str, Any]:  # noqa: ANN401  # as spec() takes it
    """Return a pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": LABELS},
        "spec": spec(script, node=node, **more),
    }


def job(name: str, template: dict[str, Any], **more: object) -> dict[str, Any]:
    """Return a Job of pods with this spec."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"metadata": {"labels": LABELS}, "spec": template}, **more},
    }


def phase(kubectl: Kubectl, name: str) -> str:
    """Return a pod's phase."""
    return kubectl("get", "pod", name, "--output", "jsonpath={.status.phase}")


def await_phase(kubectl: Kubectl, name: str, wanted: str, timeout: float = 60) -> None:
    """Wait until a pod has a phase."""

    def check() -> None:
        found = phase(kubectl, name)
        assert found == wanted, f"pod {name} is {found}, not {wanted}"

    wait_until(check, timeout=timeout, every=0.2)


def address(kubectl: Kubectl, name: str) -> str:
    """Return a pod's address."""
    return kubectl("get", "pod", name, "--output", "jsonpath={.status.podIP}")
