"""The eleven jobs whose YAML is kept: a real API server takes each as it stands, under the pod security it keeps."""

from __future__ import annotations

import re

import pytest

from tests.cluster.kubectl import Kubectl, KubectlFailed
from tests.support.golden_jobs import JOBS, text_of

DRY = ("apply", "--dry-run=server", "--warnings-as-errors", "--filename", "-")
RESTRICTED = sorted(name for name, job in JOBS.items() if job.restricted)
# hostPath keeps no standard; NFS named by the pod itself is what `baseline` still allows.
OTHERS = {"host-path": "privileged", "nfs": "baseline"}


def within(namespace: Kubectl, name: str) -> str:
    """Return a job's YAML for this test's namespace."""
    said = JOBS[name].namespace
    return (
        re.sub(rf"(?m)^( *namespace:) {said}$", rf"\1 {namespace.namespace}", text_of(name))
        if said
        else text_of(name)
    )


def standard(namespace: Kubectl, level: str) -> None:
    """Let the API warn of every pod that breaks a pod security standard; a Job's pods are only warned of."""
    label = f"pod-security.kubernetes.io/warn={level}"
    namespace("label", "--overwrite", "namespace", namespace.namespace, label)


@pytest.mark.parametrize("name", RESTRICTED)
def test_a_job_is_taken_without_a_warning_under_the_restricted_standard(namespace: Kubectl, name: str) -> None:
    standard(namespace, "restricted")
    told = namespace(*DRY, stdin=within(namespace, name))
    assert told.count("(server dry run)") == len(JOBS[name].manifests())


@pytest.mark.parametrize(("name", "level"), OTHERS.items())
def test_a_job_with_a_volume_of_the_pods_own_is_taken_under_what_it_keeps_and_not_under_restricted(
    namespace: Kubectl, name: str, level: str
) -> None:
    standard(namespace, level)
    told = namespace(*DRY, stdin=within(namespace, name))
    assert told.count("(server dry run)") == len(JOBS[name].manifests())
    standard(namespace, "restricted")
    with pytest.raises(KubectlFailed, match='would violate PodSecurity "restricted'):
        namespace(*DRY, stdin=within(namespace, name))


def test_every_job_is_one_or_the_other() -> None:
    assert {*RESTRICTED, *OTHERS} == set(JOBS)


def test_a_claim_of_a_volume_that_was_made_for_it_is_bound(namespace: Kubectl) -> None:
    """The PersistentVolume and its claim find each other, without the driver, which only a pod needs."""
    documents = within(namespace, "ceph").replace("yanxu.", f"{namespace.namespace}.")
    made = [each for each in documents.split("---\n") if "\nkind: PersistentVolume" in each]
    namespace.apply(*made)
    try:
        namespace("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/paddle-job-volume-1", "--timeout=30s")
    finally:
        namespace("delete", "pvc/paddle-job-volume-1", "--timeout=30s")
        namespace("delete", f"pv/{namespace.namespace}.paddle-job-volume-1", "--timeout=30s")
