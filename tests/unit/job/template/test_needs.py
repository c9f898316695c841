"""What an overlay may not take away, each with its sentence; all else of a pod is the user's."""

from __future__ import annotations

from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from launcher.job import JobError, PaddleJob, Volume
from tests.support.manifests import ROOT

Json = dict[str, Any]
CLAIM = Volume("/home/jobpath", claim="mfs")


def job(*pod: object, **said: Any) -> PaddleJob:  # noqa: ANN401  # whatever a job takes
    program = {"job_name": "a", "runtime_image": "image", "entry_point": "python train.py", "volumes": (CLAIM,)}
    return PaddleJob(**{**program, "pod": pod, **said})


def of_trainer(**over: object) -> Json:
    return {"spec": {"containers": [{"name": "trainer", **over}]}}


BROKEN = [
    (of_trainer(command=["sleep"]), "changes the command of the container trainer: leave out command and args"),
    (of_trainer(args=["--debug"]), "changes the command of the container trainer"),
    (of_trainer(command=None), "changes the command of the container trainer"),
    (
        of_trainer(ports=[{"containerPort": 7170, "$patch": "delete"}]),
        "takes the status port 7170 of the container trainer away: leave it, as probes and the gang's",
    ),
    (of_trainer(ports=None), "takes the status port 7170 of the container trainer away"),
    (of_trainer(ports=[{"containerPort": 7170, "name": "http"}]), "takes the status port 7170"),
    ({"spec": {"containers": [{"name": "trainer", "$patch": "delete"}]}}, "takes the container trainer away"),
    (
        {"spec": {"initContainers": [{"name": "root-files", "$patch": "delete"}]}},
        "takes the container root-files away: leave it, as the job runs in it",
    ),
    (of_trainer(env=[{"name": "JOB_NAME", "value": "b"}]), "changes JOB_NAME: that is set by job_name"),
    (
        of_trainer(env=[{"name": "LAUNCHER_PEERS", "$patch": "delete"}]),
        "changes LAUNCHER_PEERS: that is set by job_name",
    ),
    (
        of_trainer(volumeMounts=[{"mountPath": "/home/jobpath", "$patch": "delete"}]),
        "takes /home/jobpath of the container trainer away: leave it, as the job's files are there",
    ),
    (of_trainer(volumeMounts=[{"mountPath": "/work", "name": "tmp"}]), "takes /work of the container trainer away"),
    ({"spec": {"volumes": [{"name": "volume-1", "$patch": "delete"}]}}, "takes the volume volume-1 away"),
    ({"spec": {"restartPolicy": "OnFailure"}}, "changes restartPolicy: leave it out, as the Job replaces a pod"),
    ({"spec": {"subdomain": None}}, "changes subdomain: leave it out, as the members find each other"),
    ({"spec": {"hostname": "a"}}, "changes hostname: leave it out"),
    ({"metadata": {"labels": {"paddle-job": "b"}}}, "changes the label paddle-job: leave it out, as the job's pods"),
    ({"metadata": {"labels": None}}, "changes the label paddle-job"),
    ({"metadata": {"labels": {"paddle-launcher/job": "b"}}}, "changes the label paddle-launcher/job"),
    ({"metadata": {"annotations": {"batch.kubernetes.io/x": "0"}}}, "changes the annotation batch.kubernetes.io/x"),
    ({"metadata": {"annotations": "x"}}, "has annotations that are no mapping: expected names and values"),
    ({"template": {"spec": {}}}, "has template: expected metadata and spec, as a Pod has them"),
    ({"spec": None}, "takes the volume volume-1 away"),
]


@pytest.mark.parametrize(("pod", "told"), BROKEN, ids=[told for _, told in BROKEN])
def test_what_a_gang_needs_stays(pod: Json, told: str) -> None:
    with pytest.raises(JobError) as caught:
        job(pod)
    assert any(each.startswith(f"pod {told}") for each in caught.value.problems), caught.value
    with pytest.raises(JobError, match="pod "):
        job({"spec": {"hostIPC": True}}, pod)


def test_what_holds_for_both_roles_is_told_once() -> None:
    with pytest.raises(JobError) as caught:
        job({"spec": {"restartPolicy": "Always"}})
    assert len(caught.value.problems) == 1


def test_of_a_pserver_it_is_told_as_well() -> None:
    with pytest.raises(JobError, match="pod changes the command of the container pserver"):
        job({"spec": {"containers": [{"name": "pserver", "command": ["x"]}]}})


def test_what_cannot_be_merged_is_a_sentence() -> None:
    with pytest.raises(JobError, match=r"pod\.spec\.containers is a mapping: expected a list"):
        job({"spec": {"containers": {"name": "trainer"}}})
    with pytest.raises(JobError, match="pod='hostIPC': expected metadata and spec of a Pod"):
        job("hostIPC")
    with pytest.raises(JobError, match=r"pod.*: expected what JSON has"):
        job({"spec": {"hostIPC": {1, 2}}})


def test_all_else_is_the_users() -> None:
    free = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {"team": "a"}, "annotations": {"b": "c"}},
        "spec": {
            "terminationGracePeriodSeconds": 600,
            "automountServiceAccountToken": True,
            "containers": [
                {
                    "name": "trainer",
                    "image": "other",
                    "env": [{"name": "A", "value": "1"}],
                    "startupProbe": None,
                    "ports": [{"containerPort": 6006}],
                },
                {"name": "side", "image": "side"},
            ],
            "volumes": [{"name": "work", "ephemeral": {}}],
        },
    }
    first, second, *_ = job(free).manifests()
    assert [each["name"] for each in first["spec"]["template"]["spec"]["containers"]] == ["trainer", "side"]
    assert [each["name"] for each in second["spec"]["template"]["spec"]["containers"]] == ["pserver", "side"]
    assert first["spec"]["template"]["metadata"]["labels"]["team"] == "a"
    assert "kind" not in first["spec"]["template"]


def test_the_overlay_that_is_documented_is_one() -> None:
    text = (ROOT / "docs" / "paddlectl.md").read_text()
    (shown,) = (each for each in text.split("```yaml\n") if each.startswith("spec:"))
    trainer, pserver, *_ = job(yaml.safe_load(shown.partition("```")[0])).manifests()
    pods = [each["spec"]["template"]["spec"] for each in (trainer, pserver)]
    assert [each["schedulerName"] for each in pods] == ["volcano", "volcano"]
    assert [each["containers"][0]["securityContext"]["capabilities"] for each in pods] == [
        {"drop": ["ALL"], "add": ["IPC_LOCK"]},
        {"drop": ["ALL"]},
    ]


def test_an_overlay_is_a_value_of_the_job_and_no_later_change_of_it_is() -> None:
    pod = {"spec": {"hostIPC": True}}
    made = job(pod)
    pod["spec"]["hostIPC"] = False
    assert made.pod == ({"spec": {"hostIPC": True}},)
    assert hash(made) == hash(job())
