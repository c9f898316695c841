"""Namespaces that are a test's own, and one that is everybody's, left as they were found."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.kubectl import Kubectl, KubectlFailed
from tests.support.waiting import wait_until


@contextmanager
def own(kubectl: Kubectl) -> Iterator[Kubectl]:
    """Make a namespace, and delete it with all that is in it."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", name)
    within = kubectl.within(name)
    wait_until(lambda: has_account(within), timeout=30, every=0.05)
    yield within
    # Pods of a namespace that ends are given their whole grace; the next test wants their ports and nodes soon.
    within("delete", "pods", "--all", "--grace-period=1", "--wait=false")
    kubectl("delete", "namespace", name, "--wait=false")


def emptied(kubectl: Kubectl) -> None:
    """Delete what the manifests of k8s/ make in a namespace that stays."""
    kubectl("delete", "job,role,rolebinding,networkpolicy", "--all", "--timeout=60s", timeout=90)
    # By force: one that was told to end in the moment of its start has not heard it, and stays for its whole grace.
    kubectl("delete", "pods", "--all", "--force", "--grace-period=0", "--timeout=60s", timeout=90)
    kubectl("delete", "persistentvolumeclaims", "--all", "--timeout=60s", timeout=90)


def has_account(kubectl: Kubectl) -> bool:
    """Return whether pods can be made: they need the default ServiceAccount, which comes a moment after."""
    try:
        return bool(kubectl("get", "serviceaccount", "default", "--output", "name"))
    except KubectlFailed:
        return False
