"""Pods with overlays on the cluster: both jobs train to their end under the `restricted` standard."""

from __future__ import annotations

from typing import Any

import pytest

from launcher.job import Job, Volume
from tests.cluster.kubectl import Kubectl
from tests.cluster.training import await_state, state
from tests.cluster.volumes import JOB
from tests.cluster.volumes import Volume as Directory
from tests.grounds.docker.images import STAND_IN
from tests.support.desks import CLAIM

pytestmark = pytest.mark.usefixtures("images")

MOUNT = "/home/jobpath"
SMALL: dict[str, Any] = {
    "runtime_image": STAND_IN,
    "memory": "256Mi",
    "psmemory": "256Mi",
    "cpu_nums": "100m",
    "pscpu": "100m",
    "volumes": Volume(MOUNT, claim="mfs"),
    "job_path": MOUNT,
}
PYTHON = "/opt/launcher/bin/python"
GREETER = """\
import http.server
class Greets(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")
http.server.HTTPServer(("", 8000), Greets).serve_forever()
"""
# It ends with the pod's own container: an init container that is always restarted is a sidecar to Kubernetes.
SIDECAR = {
    "name": "greeter",
    "image": STAND_IN,
    "restartPolicy": "Always",
    "command": [PYTHON, "-c", GREETER],
    "startupProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1, "failureThreshold": 60},
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
}
PROGRAM = """\
import os, urllib.request
from pathlib import Path
told = urllib.request.urlopen("http://127.0.0.1:8000").read().decode()
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "KEY", "GIVEN")
print(told, *(os.environ[name] for name in names), Path("/secrets/own/KEY").read_text(), 2000 in os.getgroups())
"""


def begin(namespace: Kubectl, job: Job) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "own"}, "stringData": {"KEY": "of-a-secret"}}
    namespace("label", "namespace", namespace.namespace, "pod-security.kubernetes.io/enforce=restricted")
    namespace.apply(CLAIM, secret, str(job))


def test_several_programs_in_a_pod_train_beside_a_sidecar(namespace: Kubectl, claimed: Directory) -> None:
    (claimed.path / "program").mkdir()
    (claimed.path / "program" / "train.py").write_text(PROGRAM)
    pod = {
        "spec": {
            "initContainers": [SIDECAR],
            "securityContext": {"supplementalGroups": [2000]},
            "containers": [{"name": "trainer", "env": [{"name": "GIVEN", "value": "by-overlay"}]}],
        }
    }
    job = Job(
        job_name=JOB,
        entry_point=f"{PYTHON} train.py",
        runtime="torch",
        processes=2,
        trainers=3,  # the volume has a shard for each
        trainer_package_path=f"{MOUNT}/program",
        env_from="own",
        secret_files={"own": "/secrets/own"},
        labels={"team": "vision"},
        pod=pod,
        **SMALL,
    )
    begin(namespace, job)
    await_state(namespace, "Complete", timeout=120)
    logs = [claimed.output / f"node_{pod}" / name for pod in range(3) for name in ("train.log", "train-1.log")]
    assert [log.read_text().strip() for log in logs] == [
        f"hello {rank} 6 {rank % 2} of-a-secret by-overlay of-a-secret True" for rank in range(6)
    ]
    assert len(namespace.items("pods", "--selector", "team=vision")) == 3


def test_both_roles_train_with_parts_of_their_own(namespace: Kubectl, claimed: Directory) -> None:
    work = {"name": "work", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}}
    roles = [
        {"name": role, "env": [{"name": "PART", "value": role}], "startupProbe": {"periodSeconds": 1}}
        for role in ("trainer", "pserver")
    ]
    job = Job(
        job_name=JOB,
        topology="trainer_config.py",
        trainer_package_path="recommendation",
        passes=2,
        pservers=2,
        trainers=3,
        restarts=0,
        shm="100Mi",
        keep=3600,
        pod=({"spec": {"volumes": [work]}}, {"spec": {"containers": roles}}),
        **SMALL,
    )
    begin(namespace, job)
    await_state(namespace, "Complete", name=f"{JOB}-trainer", timeout=120)
    assert state(namespace, f"{JOB}-pserver") in ("", "Complete")
    assert (claimed.output / "pass-00001" / "done").exists()
    for role in ("trainer", "pserver"):
        spec = namespace.get("job", f"{JOB}-{role}")["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        assert {"name": "PART", "value": role} in container["env"]
        assert work in spec["volumes"]
