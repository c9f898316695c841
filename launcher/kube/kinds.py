"""Where the API keeps each kind of object that the desk knows.

No I/O here.
"""

from __future__ import annotations

from urllib.parse import quote

from launcher.contract import JOB_LABEL, MANAGED_BY, NAME

OURS = f"{MANAGED_BY}={NAME}"
NAMES_ALONE = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"  # a list of no more

KUEUE = "/apis/kueue.x-k8s.io"  # what versions of it there are

PLACES = {
    "ConfigMap": ("/api/v1", "configmaps"),
    "Event": ("/api/v1", "events"),
    "Job": ("/apis/batch/v1", "jobs"),
    "NetworkPolicy": ("/apis/networking.k8s.io/v1", "networkpolicies"),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims"),
    "Pod": ("/api/v1", "pods"),
    "ResourceQuota": ("/api/v1", "resourcequotas"),
    "Secret": ("/api/v1", "secrets"),
    "Service": ("/api/v1", "services"),
}
CLUSTER_WIDE = {
    "PersistentVolume": ("/api/v1", "persistentvolumes"),
    "SelfSubjectAccessReview": ("/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews"),
}


def path(kind: str, namespace: str, name: str = "") -> str:
    """Return the path of all objects of a kind in a namespace, in all without one, or of one of them."""
    if kind in CLUSTER_WIDE:
        root, plural = CLUSTER_WIDE[kind]
        top = f"{root}/{plural}"
    else:
        root, plural = PLACES[kind]
        top = f"{root}/namespaces/{quote(namespace, safe='')}/{plural}" if namespace else f"{root}/{plural}"
    return f"{top}/{quote(name, safe='')}" if name else top


def of_job(name: str, more: str = "") -> str:
    """Return the selector of all objects of one job, or of those with more labels."""
    return f"{OURS},{JOB_LABEL}={name}" + (f",{more}" if more else "")
