"""Kueue and JobSet: their modules, what they are told, and what of their manifests is wanted."""

from __future__ import annotations

from pathlib import Path

from tests.grounds.cluster.build import GIB, Module
from tests.grounds.controllers.controller import Controller

HERE = Path(__file__).resolve().parent
# One of each is enough, and the ground issues the certificates.
ALONE = {"leaderElection": {"leaderElect": False}, "internalCertManagement": {"enable": False}}

KUEUE = Controller(
    module=Module(directory=HERE / "kueue", names=("kueue",), needs=5 * GIB, package="sigs.k8s.io/kueue/cmd/kueue"),
    source="sigs.k8s.io/kueue",
    settings={
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "integrations": {"frameworks": ["batch/job"]},
        **ALONE,
    },
    # Its own API server, for those who ask what is before them in a queue, has certificates of its own.
    flags=("--feature-gates=VisibilityOnDemand=false",),
    groups=frozenset({"batch", "kueue.x-k8s.io"}),
    port=9443,
    refused={
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "refused",
            "labels": {"kueue.x-k8s.io/queue-name": "any"},
            "annotations": {"kueue.x-k8s.io/job-min-parallelism": "many"},
        },
        "spec": {
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "nothing", "image": "nothing"}]},
            }
        },
    },
    refusal="job-min-parallelism",
)
JOBSET = Controller(
    module=Module(directory=HERE / "jobset", names=("jobset",), needs=5 * GIB, package="sigs.k8s.io/jobset"),
    source="sigs.k8s.io/jobset",
    settings={
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "featureGates": {"ElasticJobSet": True},
        **ALONE,
    },
    flags=(),
    groups=frozenset({"", "jobset.x-k8s.io"}),
    port=9453,
    refused={
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "refused"},
        "spec": {"successPolicy": {"operator": "All", "targetReplicatedJobs": ["unknown"]}, "replicatedJobs": []},
    },
    refusal="does not appear in .spec.ReplicatedJobs",
)
