"""A training on the cluster: its manifests with the image put in, and what became of its pods."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.cluster.kubectl import Kubectl
from tests.cluster.volumes import JOB
from tests.grounds.docker.images import STAND_IN
from tests.support import articles
from tests.support.manifests import K8S
from tests.support.waiting import wait_until

IMAGE = "your-repo/paddle:mypaddle"


def manifest(folder: str, *names: str, image: str = STAND_IN, **replaced: str) -> str:
    """Return the YAML of a folder of k8s/, all of it or some files, with only the image's name put in."""
    files = [K8S / folder / name for name in names] or sorted((K8S / folder).glob("*.yaml"))
    text = "\n---\n".join(file.read_text() for file in files).replace(IMAGE, image)
    for old, new in replaced.items():
        text, count = re.subn(rf"(\b{old}: ).*", rf"\g<1>{new}", text)
        assert count, f"nothing named {old} in {folder}"
    return text


def pods(kubectl: Kubectl, selector: str = f"job-name={JOB}") -> list[dict[str, Any]]:
    """Return the job's pods, in the order of their addresses' text: their ranks."""
    found = kubectl.items("pods", "--selector", selector)
    return sorted(found, key=lambda pod: str(pod["status"].get("podIP", "")))


def state(kubectl: Kubectl, name: str = JOB) -> str:
    """Return Complete, Failed, or nothing for a Job that goes on."""
    conditions = kubectl.get("job", name)["status"].get("conditions", [])
    ends = [
        each["type"] for each in conditions if each["status"] == "True" and each["type"] in ("Complete", "Failed")
    ]
    return ends[0] if ends else ""


def uid(kubectl: Kubectl, name: str = JOB) -> str:
    """Return a Job's UID, which is the key of its gang."""
    return str(kubectl.get("job", name)["metadata"]["uid"])


def await_state(kubectl: Kubectl, wanted: str, name: str = JOB, timeout: float = 90) -> None:
    """Wait until a Job has ended so."""

    def check() -> None:
        found = state(kubectl, name)
        assert found == wanted, f"job {name} is {found or 'going on'}, not {wanted}"

    wait_until(check, timeout=timeout, every=0.25)


def ended(pod: dict[str, Any]) -> dict[str, Any]:
    """Return how a pod's container ended: its code and message."""
    (status,) = pod["status"]["containerStatuses"]
    found: dict[str, Any] = status["state"].get("terminated", {})
    return found


def log_of(kubectl: Kubectl, pod: dict[str, Any]) -> str:
    """Return all that a pod has said."""
    return kubectl("logs", pod["metadata"]["name"])


def told(kubectl: Kubectl, pod: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the events of one name that a pod's launcher told."""
    return [event for event in articles.events(log_of(kubectl, pod)) if event["event"] == name]


def reasons(kubectl: Kubectl, name: str) -> str:
    """Return all that a pod's launcher said it waited for."""
    waited = told(kubectl, {"metadata": {"name": name}}, "waiting_for_peers")
    return "\n".join(event["reason"] for event in waited)


def running(kubectl: Kubectl, selector: str = f"job-name={JOB}") -> list[str]:
    """Return the names of the pods that run."""
    return [each["metadata"]["name"] for each in pods(kubectl, selector) if each["status"]["phase"] == "Running"]


@contextmanager
def closed(kubectl: Kubectl, node: str) -> Iterator[None]:
    """Keep new pods off a node."""
    kubectl("cordon", node)
    try:
        yield
    finally:
        kubectl("uncordon", node)


def seed_two(kubectl: Kubectl, *, port: int = 30001) -> str:
    """Return seed 002's Job, one pod a node by its host port, for a namespace and a volume of the test's own."""
    job = manifest("aws", "job.yaml", hostPort=str(port), containerPort=str(port))
    job = job.replace("value: default", f"value: {kubectl.namespace}").replace("claimName: efs", "claimName: mfs")
    return "\n---\n".join((manifest("rbac", namespace=kubectl.namespace), manifest("indexed", "claim.yaml"), job))


def begin_to_wait(kubectl: Kubectl) -> str:
    """Wait until two of seed 002's three pods run and say that they wait; return the first one's name."""
    wait_until(lambda: len(running(kubectl)) == 2, timeout=60)
    first = running(kubectl)[0]
    wait_until(lambda: reasons(kubectl, first), timeout=30)
    return first
