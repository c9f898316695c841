"""PaddleJob on the real cluster: one file that submits in a pod of the runtime image, and trains in its own job."""

from __future__ import annotations

import base64
import json
import subprocess
import sys

import pytest
import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from tests.cluster.files import SERVES
from tests.cluster.kubectl import Kubectl
from tests.cluster.pods import await_phase
from tests.cluster.volumes import EXAMPLE, Volume
from tests.grounds.docker.images import STAND_IN
from tests.support.desks import CLAIM, shipped

pytestmark = pytest.mark.usefixtures("images")

MOUNT = "/home/jobpath"
PROGRAM = (
    """\
import json, os, signal, socket, sys
from launcher import job

if not job.inside():
    small = dict(memory="256Mi", psmemory="256Mi", cpu_nums="100m", pscpu="100m", pservers=1, trainers=2)
    mine = job.PaddleJob(
        job_name="by-python", trainer_package_path="/home/jobpath/program",
        volumes=job.Volume("/home/jobpath", claim="mfs"), **small, **json.loads(sys.argv[1]))
    print(mine.submit().state, flush=True)
    print(mine.wait(timeout=200), flush=True)
elif os.environ["TRAINING_ROLE"] == "TRAINER":
    print("the same file trains", os.environ["PADDLE_TRAINER_ID"], flush=True)
"""
    + SERVES
)
FLEET = {"entry_point": "/opt/launcher/bin/python train.py"}
V1 = {"topology": "trainer_config.py", "passes": 2}


def kubeconfig(namespace: Kubectl) -> str:
    """Return the kubeconfig of a user with the shipped Role, as it serves in a pod."""
    namespace("create", "serviceaccount", "desk")
    namespace.apply(CLAIM, *shipped())
    known = yaml.safe_load(namespace.kubeconfig.read_text())["clusters"][0]["cluster"]["certificate-authority-data"]
    cluster = {"server": "https://kubernetes.default.svc", "certificate-authority-data": known}
    made = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": cluster}],
        "users": [{"name": "desk", "user": {"token": namespace("create", "token", "desk").strip()}}],
        "contexts": [
            {"name": "here", "context": {"cluster": "here", "user": "desk", "namespace": namespace.namespace}}
        ],
        "current-context": "here",
    }
    return json.dumps(made)


def desk(said: dict[str, object]) -> dict[str, object]:
    """Return a pod of the runtime image that runs the program, as `docker run` does."""
    container = {
        "name": "desk",
        "image": STAND_IN,
        "command": ["/opt/launcher/bin/python", f"{MOUNT}/program/train.py", json.dumps(said)],
        "env": [{"name": "KUBECONFIG", "value": "/kube/config"}],
        "volumeMounts": [
            {"name": "volume", "mountPath": MOUNT, "readOnly": True},
            {"name": "kube", "mountPath": "/kube"},
        ],
    }
    volumes = [
        {"name": "volume", "persistentVolumeClaim": {"claimName": "mfs"}},
        {"name": "kube", "secret": {"secretName": "kubeconfig"}},
    ]
    spec = {"restartPolicy": "Never", "containers": [container], "volumes": volumes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "desk"}, "spec": spec}


@pytest.mark.parametrize("said", [FLEET, V1], ids=["fleet", "v1"])
def test_a_program_submits_itself_from_the_runtime_image(
    namespace: Kubectl, claimed: Volume, said: dict[str, object]
) -> None:
    job, program = claimed.path / "jobs" / "by-python", claimed.path / "program"
    for directory in (job, program):
        directory.mkdir(parents=True)
    (program / "train.py").write_text(PROGRAM)
    (program / "trainer_config.py").write_bytes((EXAMPLE / "trainer_config.py").read_bytes())
    if said == V1:
        words = (EXAMPLE / "make_data.py", job, "--samples", "600", "--shards=2")
        subprocess.run([sys.executable, *map(str, words)], check=True, timeout=60)
    for directory in (claimed.path, job.parent, job):
        directory.chmod(0o777)
    secret = {"config": base64.b64encode(kubeconfig(namespace).encode()).decode()}
    namespace.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kubeconfig"}, "data": secret})
    image = {"runtime_image": STAND_IN, "namespace": namespace.namespace}
    namespace.apply(desk({**said, **image}))
    await_phase(namespace, "desk", "Succeeded", timeout=240)
    # With what the desk says of the state meanwhile on its other stream, in no order that is sure.
    told = namespace("logs", "desk").splitlines()
    assert [line for line in told if line in ("Starting", "Complete")] == ["Starting", "Complete"]
    if said == V1:
        assert (job / "output" / "pass-00001" / "done").exists()
    else:
        logs = [(job / "output" / f"node_{rank}" / "train.log").read_text() for rank in (0, 1)]
        assert all(f"the same file trains {rank}" in log for rank, log in enumerate(logs))
