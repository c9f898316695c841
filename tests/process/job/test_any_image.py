"""The pods of k8s/any-image, as an API server takes them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.grounds.api.control_plane import ControlPlane
from tests.support.manifests import of_kind, one


def test_the_pods_into_which_the_launcher_is_brought_are_accepted_where_restricted_is_enforced(
    plane: ControlPlane,
) -> None:
    namespace = plane.new_namespace("any-image")
    plane.enforce(namespace, "restricted")
    for kind in ("PersistentVolumeClaim", "Service", "NetworkPolicy", "Job"):
        plane.make(namespace, *of_kind(kind, "any-image"))
    pod: dict[str, Any] = {**one("any-image")["spec"]["template"], "kind": "Pod"}
    plane.make(namespace, {**pod, "metadata": {"name": "one"}})
    del pod["spec"]["initContainers"][0]["securityContext"]
    with pytest.raises(AssertionError, match=r"violates PodSecurity .*container .*launcher"):
        plane.make(namespace, {**pod, "metadata": {"name": "two"}})
