"""Pods as the API tells of them: realistic JSON, and the settings of the pod that asks."""

from __future__ import annotations

from typing import Any

from launcher.pod.settings.nouns import Settings
from launcher.pod.settings.variables import read_settings

JOB = "paddle-cluster-job"
UID = "5c1e3a5e-0000-4000-8000-000000000001"


def pod(name: str, address: str = "", phase: str = "Running", **given: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON
    """Return one pod of the job; uid, owner, labels, hostname, index, created, leaving (grace) and status."""
    owner = given.get("owner", UID)
    labels = {"batch.kubernetes.io/controller-uid": owner, "job-name": JOB, **given.get("labels", {})}
    metadata: dict[str, Any] = {
        "name": name,
        "generateName": f"{JOB}-",
        "namespace": "default",
        "uid": given.get("uid", f"uid-of-{name}"),
        "creationTimestamp": given.get("created", "2026-11-18T07:00:00Z"),
        "labels": labels,
        "managedFields": [{"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": {"f:spec": {}}}],
    }
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "batch/v1", "kind": "Job", "name": JOB, "uid": owner, "controller": True}
        ]
    if "index" in given:
        metadata["annotations"] = {"batch.kubernetes.io/job-completion-index": str(given["index"])}
    if given.get("leaving"):
        metadata |= {
            "deletionTimestamp": "2026-11-18T08:00:00Z",
            "deletionGracePeriodSeconds": given.get("grace", 30),
        }
    spec: dict[str, Any] = {
        "containers": [{"name": "trainer", "image": "registry.example/paddle:1", "resources": {}}],
        "restartPolicy": "Never",
        "nodeName": "node-a",
    }
    if "hostname" in given:
        spec["hostname"] = given["hostname"]
    status: dict[str, Any] = {"phase": phase, "hostIP": "172.31.255.1", "qosClass": "BestEffort"}
    if address:
        status |= {"podIP": address, "podIPs": [{"ip": address}]}
    status |= given.get("status", {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def settings(*arguments: str, **environ: str) -> Settings:
    """Return the settings of a pod of that job, three pods strong, with these variables beside or instead."""
    usual = {
        "LAUNCHER_PEERS": "kubernetes",
        "LAUNCHER_RUNTIME": "env",
        "JOB_NAME": JOB,
        "CONF_PADDLE_GRADIENT_NUM": "3",
        "LAUNCHER_JOIN_TIMEOUT": "30",
    }
    return read_settings({**usual, **environ}, arguments or ("--", "true"))


def unschedulable(message: str) -> dict[str, Any]:
    """Return the status of a pod for which there is no node."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"conditions": [condition]}


def waiting(reason: str, message: str = "", container: str = "trainer") -> dict[str, Any]:
    """Return the status of a pod with a container that cannot start."""
    state = {"waiting": {"reason": reason, "message": message}}
    return {"containerStatuses": [{"name": container, "state": state, "ready": False, "restartCount": 0}]}
