"""Pods as their cluster's people want them: a real API server takes each, and what it cannot have is told before."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from launcher.job import PaddleJob
from tests.grounds.api.control_plane import ControlPlane, place_of
from tests.process.desk.test_paddlectl import NAME, SUBMIT, everything
from tests.process.desk.test_refusals import is_refused
from tests.support.desks import User, user
from tests.support.golden_jobs import PODS
from tests.support.waiting import wait_until

Json = dict[str, Any]
CHECKED = "?dryRun=All&fieldValidation=Strict"
PRIORITY = "/apis/scheduling.k8s.io/v1/priorityclasses"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUEUES = "/apis/kueue.x-k8s.io/v1beta1"
OVERLAY = """\
apiVersion: v1
kind: Pod
metadata: {annotations: {example.com/owner: me}}
spec:
  schedulerName: volcano
  containers:
  - name: trainer
    env: [{name: GLOG_v, value: "1"}]
"""


def secret(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"KEY": "x"}}


@pytest.fixture
def high(plane: ControlPlane) -> Iterator[str]:
    """A PriorityClass, which belongs to the whole cluster."""
    plane.ask("POST", PRIORITY, {"metadata": {"name": "high"}, "value": 1000})
    yield "high"
    plane.ask("DELETE", f"{PRIORITY}/high")


@pytest.fixture
def kueue(plane: ControlPlane) -> Iterator[None]:
    """What the API server has of Kueue: its LocalQueues."""
    names = {"kind": "LocalQueue", "plural": "localqueues", "singular": "localqueue", "listKind": "LocalQueueList"}
    anything = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1beta1", "served": True, "storage": True, "schema": anything}
    spec = {"group": "kueue.x-k8s.io", "scope": "Namespaced", "names": names, "versions": [version]}
    name = "localqueues.kueue.x-k8s.io"
    plane.ask("POST", DEFINITIONS, {"metadata": {"name": name}, "spec": spec})
    wait_until(lambda: served(plane), timeout=30, every=0.1)
    yield
    plane.ask("DELETE", f"{DEFINITIONS}/{name}")
    wait_until(lambda: not served(plane), timeout=30, every=0.1)


def served(plane: ControlPlane) -> bool:
    try:
        return bool(plane.ask("GET", f"{QUEUES}/localqueues")) and bool(plane.ask("GET", QUEUES.rpartition("/")[0]))
    except AssertionError:
        return False


def test_the_api_server_takes_every_golden_pod_under_the_restricted_standard(
    plane: ControlPlane, me: User, high: str
) -> None:
    """Each object of each job, and a pod of each Job, as its controller would make it."""
    assert len(PODS) == 15
    assert high == PODS["pod-account"].priority
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "trainer"}}
    plane.make(me.namespace, account)
    plane.enforce(me.namespace, "restricted")
    for name, described in PODS.items():
        for manifest in dataclasses.replace(described, namespace=me.namespace).manifests():
            taken = plane.ask("POST", place_of(manifest["kind"], me.namespace) + CHECKED, manifest)
            if manifest["kind"] == "Job":
                assert same(manifest["spec"]["template"]["spec"], taken["spec"]["template"]["spec"])
                template = manifest["spec"]["template"]
                pod = {"metadata": {**template["metadata"], "name": f"{name}-0"}, "spec": template["spec"]}
                plane.ask("POST", place_of("Pod", me.namespace) + CHECKED, pod)


def same(said: Any, taken: Any) -> bool:  # noqa: ANN401  # JSON
    """Return whether all that was said is in what the server has made of it, its own defaults beside."""
    if isinstance(said, dict):
        return all(same(value, taken.get(key, type(value)())) for key, value in said.items())
    if isinstance(said, list):
        return len(said) == len(taken) and all(map(same, said, taken))
    return bool(said == taken)


def test_each_flag_reaches_the_pods(plane: ControlPlane, me: User, tmp_path: Path, high: str) -> None:
    (tmp_path / "pod.yaml").write_text(OVERLAY)
    plane.make(me.namespace, secret("wandb"), secret("key"))
    said = me(
        *SUBMIT, "-env", "A=b=c", "-env-from", "wandb", "-label", "team=vision", "-annotation", "who=me",
        "-queue", "q", "-selector", "disk=ssd", "-toleration", "dedicated=train:NoSchedule", "-shm", "100Mi",
        "-gpu", "1", "-gpu-resource", "amd.com/gpu", "-priority", high, "-keep", "1h", "-restarts", "1",
        "-secret-file", "key=/secrets/key", "-pod", str(tmp_path / "pod.yaml"),
    )  # fmt: skip
    assert said.code == 0, said.err
    jobs = {each["metadata"]["name"]: each for each in plane.items(me.namespace, "Job")}
    trainer = jobs[f"{NAME}-trainer"]
    labels = {"team": "vision", "kueue.x-k8s.io/queue-name": "q"}
    assert all(labels.items() <= each["metadata"]["labels"].items() for each in jobs.values())
    assert trainer["spec"]["ttlSecondsAfterFinished"] == 3600
    template, spec = trainer["spec"]["template"], trainer["spec"]["template"]["spec"]
    assert template["metadata"]["annotations"] == {"who": "me", "example.com/owner": "me"}
    assert (spec["schedulerName"], spec["nodeSelector"], spec["priorityClassName"]) == (
        "volcano",
        {"disk": "ssd"},
        high,
    )
    (container,) = spec["containers"]
    told = {each["name"]: each.get("value") for each in container["env"]}
    assert {"A": "b=c", "GLOG_v": "1", "LAUNCHER_MAX_RESTARTS": "1"}.items() <= told.items()
    assert container["resources"]["limits"]["amd.com/gpu"] == "1"
    assert "queue:       q\n" in me("describe", NAME).out


DEFAULTS = {"label": {"team": "vision"}, "env": ["A=1"], "pod": {"spec": {"schedulerName": "volcano"}}}
BY_PYTHON = """
from launcher import job
job.Job(job_name="by-python", entry_point="python t.py", datacenter="datacenter1").submit()
"""


def test_a_datacenters_defaults_are_every_jobs_from_the_command_line_and_from_python(
    plane: ControlPlane, tmp_path: Path
) -> None:
    mine = user(plane, tmp_path, "with-defaults", defaults=DEFAULTS)
    said = mine(*SUBMIT, "-env", "A=2")
    assert said.code == 0, said.err
    python = (sys.executable, "-c", BY_PYTHON)
    done = subprocess.run(python, env=mine.environ(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    for name, value in ((NAME, "2"), ("by-python", "1")):
        made = plane.ask("GET", f"{place_of('Job', mine.namespace)}/{name}-trainer")
        spec = made["spec"]["template"]["spec"]
        assert (made["metadata"]["labels"]["team"], spec["schedulerName"]) == ("vision", "volcano")
        assert {"name": "A", "value": value} in spec["containers"][0]["env"]


def test_an_unknown_queue_is_told_where_there_is_kueue(plane: ControlPlane, me: User, kueue: None) -> None:
    assert kueue is None
    said = me(*SUBMIT, "-queue", "team-b")
    assert said.code == 1
    assert f"there is no LocalQueue team-b in the namespace {me.namespace}, it has none: ask its" in said.err
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "team-a"}}
    plane.ask("POST", f"{QUEUES}/namespaces/{me.namespace}/localqueues", queue)
    said = me(*SUBMIT, "-queue", "team-b")
    assert "it has team-a; choose one by -queue" in said.err
    assert everything(plane, me) == set()
    assert me(*SUBMIT, "-queue", "team-a").code == 0
    for name in (f"{NAME}-trainer", f"{NAME}-pserver"):  # as Kueue does
        plane.change(f"{place_of('Job', me.namespace)}/{name}", {"spec": {"suspend": True}})
    held = me("wait", NAME, "--timeout", "1s")
    assert "the queue team-a starts it" in held.err
    assert "after 1 s job" in held.err
    plane.ask("DELETE", f"{QUEUES}/namespaces/{me.namespace}/localqueues/team-a")
    vain = me("wait", NAME, "--timeout", "30s")
    assert vain.code == 1
    told = f"there is no LocalQueue team-a in the namespace {me.namespace}, it has none"
    assert f"job {NAME} is queued, and nothing starts it: {told}" in vain.err
    assert f"\n{told}: ask its administrator for one\n" in me("describe", NAME).out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("-env", "A"), 2, "-env: expected NAME=VALUE, such as OMP_NUM_THREADS=2"),
        (("-env", "JOB_NAME=x"), 2, "-env has JOB_NAME: that is set by -jobname"),
        (("-label", "paddle-job=x"), 2, "-label has paddle-job: leave it out"),
        (("-toleration", "a=b:Never"), 2, "-toleration a=b:Never: expected KEY, KEY=VALUE or KEY=VALUE:NoSchedule"),
        (
            ("-shm", "9Gi"),
            2,
            "-shm 9Gi: what is in it counts as the pod's memory, of which it has 1Gi; expected less, or",
        ),
        (("-env-from", "nobody"), 1, "there is no Secret nobody in the namespace"),
        (("-secret-file", "nobody=/x"), 1, "there is no Secret nobody in the namespace"),
        (("-priority", "nobody"), 1, "no PriorityClass with name nobody was found; choose another by -priority"),
        (("-serviceaccount", "nobody"), 1, 'serviceaccount "nobody" not found; choose another by -serviceaccount'),
        (
            ("-pod", "/nowhere.yaml"),
            2,
            "-pod /nowhere.yaml: No such file or directory: expected a file with metadata",
        ),
        (("-processes", "2"), 2, "-processes 2: expected -runtime torch or another without pservers"),
    ],
)
def test_what_cannot_be_asked_for_is_one_sentence_and_nothing_is_made(
    plane: ControlPlane, me: User, words: tuple[str, ...], code: int, told: str
) -> None:
    is_refused(plane, me, words, code, told)


@pytest.mark.parametrize(
    ("pod", "code", "told"),
    [
        (
            "spec: {containers: [{name: trainer, command: [sleep]}]}",
            2,
            "-pod changes the command of the container trainer",
        ),
        (
            "spec: {containers: [{name: trainer, ports: }]}",
            2,
            "-pod takes the status port 7170 of the container trainer",
        ),
        ("spec: {containers: [{image: x}]}", 2, "pod.spec.containers[0] has no name: expected it"),
        ("spec: [", 2, "not valid YAML"),
        ("hello", 2, "expected metadata and spec of a Pod"),
        ("spec: {volumes: [{name: a, secret: {}}, {name: b, persistentVolumeClaim: {}}]}", 1, "Required value"),
        ("spec: {containers: [{name: trainer, envFrom: [7]}]}", 1, "the API server rejects the Job"),
        ("spec: {hostIPK: true}", 1, 'unknown field "spec.template.spec.hostIPK"'),
    ],
)
def test_an_overlay_that_cannot_be_is_told_and_nothing_is_made(
    plane: ControlPlane, me: User, tmp_path: Path, pod: str, code: int, told: str
) -> None:
    (tmp_path / "pod.yaml").write_text(pod)
    said = me(*SUBMIT, "-pod", str(tmp_path / "pod.yaml"))
    assert (said.code, said.out) == (code, "")
    assert told in said.err
    assert everything(plane, me) == set()


def test_what_a_job_is_asked_to_be_goes_through_another_python_as_it_is() -> None:
    from launcher.job.__main__ import described

    for each in PODS.values():
        fields = json.loads(json.dumps(dataclasses.asdict(each)))
        assert described(fields) == each
        assert isinstance(described(fields), PaddleJob)
