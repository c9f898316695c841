"""Kueue and JobSet: their modules, what they are told, and what of their manifests is wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.grounds.cluster.build import GIB, Module
from tests.grounds.controllers.controller import Controller

HERE = Path(__file__).resolve().parent
NO_ELECTION = {"leaderElect": False}
UNCERTIFIED = {"enable": False}  # the ground issues the certificates


def kueue() -> Controller:
    """Return Kueue, for plain Jobs alone."""
    module = Module(directory=HERE / "kueue", names=("kueue",), needs=5 * GIB, package="sigs.k8s.io/kueue/cmd/kueue")
    # Refused by its webhook, and so the sign that the API server knows the webhook.
    refused = job_of_nothing({"kueue.x-k8s.io/job-min-parallelism": "many"}, {"kueue.x-k8s.io/queue-name": "any"})
    return Controller(
        module=module,
        source="sigs.k8s.io/kueue",
        settings={
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "leaderElection": NO_ELECTION,
            "internalCertManagement": UNCERTIFIED,
            "integrations": {"frameworks": ["batch/job"]},
        },
        # Its API server for those who ask by what they wait has certificates of its own.
        flags=("--feature-gates=VisibilityOnDemand=false",),
        groups=frozenset({"batch", "kueue.x-k8s.io"}),
        port=9443,
        refused=refused,
        refusal="job-min-parallelism",
    )


def jobset(*, elastic: bool = True) -> Controller:
    """Return JobSet, with its alpha feature of widths that change where it is wanted."""
    module = Module(directory=HERE / "jobset", names=("jobset",), needs=5 * GIB, package="sigs.k8s.io/jobset")
    return Controller(
        module=module,
        source="sigs.k8s.io/jobset",
        settings={
            "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
            "kind": "Configuration",
            "leaderElection": NO_ELECTION,
            "internalCertManagement": UNCERTIFIED,
            "featureGates": {"ElasticJobSet": elastic},
        },
        flags=(),
        groups=frozenset({"", "jobset.x-k8s.io"}),
        port=9444,
        refused={
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {"name": "refused"},
            "spec": {"successPolicy": {"operator": "All", "targetReplicatedJobs": ["unknown"]}, "replicatedJobs": []},
        },
        refusal="does not appear in .spec.ReplicatedJobs",
    )


def job_of_nothing(annotations: dict[str, str], labels: dict[str, str]) -> dict[str, Any]:
    """Return a Job of a pod that nobody starts."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "nothing", "image": "nothing"}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "refused", "annotations": annotations, "labels": labels},
        "spec": {"template": {"spec": pod}},
    }


KUEUE, JOBSET = kueue(), jobset()
