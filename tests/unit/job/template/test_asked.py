"""What may be asked of the pods by name, what it becomes, and each mistake with its sentence."""

from __future__ import annotations

from typing import Any

import pytest

from launcher.job import JobError, PaddleJob

Json = dict[str, Any]


def job(**said: Any) -> PaddleJob:  # noqa: ANN401  # whatever a job takes
    return PaddleJob(**{"job_name": "a", "runtime_image": "image", "entry_point": "python train.py", **said})


def pods(**said: Any) -> list[Json]:  # noqa: ANN401  # whatever a job takes
    return [each["spec"]["template"]["spec"] for each in job(**said).manifests() if each["kind"] == "Job"]


def shm(pod: Json) -> str:
    return next(str(each["emptyDir"]["sizeLimit"]) for each in pod["volumes"] if each["name"] == "shm")


WRONG = [
    ({"labels": "team"}, "labels='team': expected names and values, such as {'team': 'vision'}"),
    ({"labels": {"a b": "c"}}, "labels has 'a b': 'c': expected names and values"),
    ({"labels": {"/a": "c"}}, "labels has '/a': 'c': expected"),
    ({"labels": {7: "c"}}, "labels has 7: 'c': expected"),
    ({"labels": {"a": 7}}, "labels has 'a': 7: expected"),
    ({"labels": {"a": "-"}}, "labels has 'a': '-': expected"),
    ({"labels": {"a" * 64: "b"}}, "labels has 'aaaaaa"),
    ({"labels": {"paddle-job": "b"}}, "labels has paddle-job: leave it out, the job's own objects are found by it"),
    ({"labels": {"batch.kubernetes.io/job-name": "b"}}, "labels has batch.kubernetes.io/job-name: leave it out"),
    ({"labels": {"kueue.x-k8s.io/queue-name": "q"}}, "labels has kueue.x-k8s.io/queue-name: that is set by queue"),
    ({"annotations": {"a": "b\0"}}, "annotations has 'a': 'b\\x00': expected names and values"),
    ({"annotations": {"paddle-launcher/spec": "{}"}}, "annotations has paddle-launcher/spec: leave it out"),
    (
        {"annotations": {"kueue.x-k8s.io/job-min-parallelism": "1"}},
        "annotations has kueue.x-k8s.io/job-min-parallelism: leave it out, a gang has a fixed number of pods",
    ),
    ({"selector": {"disk": "s s d"}}, "selector has 'disk': 's s d': expected names and values, such as {'disk':"),
    ({"env_from": "My Secret"}, "env_from='My Secret': expected the name of a Secret"),
    ({"env_from": [None]}, "env_from=None: expected the name of a Secret"),
    ({"tolerations": "a=b:Never"}, "tolerations='a=b:Never': expected KEY, KEY=VALUE or KEY=VALUE:NoSchedule"),
    ({"tolerations": ("a", 7)}, "tolerations=7: expected KEY"),
    ({"tolerations": "=b"}, "tolerations='=b': expected KEY"),
    ({"tolerations": "a=b c"}, "tolerations='a=b c': expected KEY"),
    ({"avoid": "node_b"}, "avoid='node_b': expected the name of a node, as `kubectl get nodes` shows it"),
    ({"avoid": ("node-b", 7)}, "avoid=7: expected the name of a node"),
    (
        {"secret_files": "key"},
        "secret_files='key': expected Secrets and directories, such as {'gcp-key': '/secrets/gcp'}",
    ),
    (
        {"secret_files": {"key": "secrets"}},
        "secret_files has 'key': 'secrets': expected a Secret's name and an absolute",
    ),
    ({"secret_files": {"key": "/work"}}, "secret_files has 'key': '/work': expected"),
    ({"secret_files": {"a": "/x", "b": "/x"}}, "secret_files: two Secrets are at /x: expected a directory for each"),
    ({"queue": "Team A"}, "queue='Team A': expected the name of a LocalQueue of Kueue, such as team-a"),
    ({"queue": 7}, "queue=7: expected the name of a LocalQueue"),
    ({"gpu_resource": "gpu"}, "gpu_resource='gpu': expected a resource's name, such as amd.com/gpu"),
    ({"service_account": "Me"}, "service_account='Me': expected the name of a ServiceAccount in the job's namespace"),
    ({"priority": "High!"}, "priority='High!': expected the name of a PriorityClass, such as high-priority"),
    ({"keep": -1}, "keep=-1: expected a whole number of seconds from 0 to 2147483647"),
    ({"keep": "2d"}, "keep='2d': expected a whole number of seconds"),
    ({"restarts": 1001}, "restarts=1001: expected a whole number from 0 to 1000"),
    ({"restarts": True}, "restarts=True: expected a whole number"),
    ({"shm": "2"}, "shm='2': 2 bytes are too few"),
    (
        {"shm": "2Gi"},
        "shm='2Gi': what is in it counts as the pod's memory, of which it has 1Gi; expected less, or more ",
    ),
]


@pytest.mark.parametrize(("wrong", "told"), WRONG, ids=[told[:60] for _, told in WRONG])
def test_what_cannot_be_asked_for_is_told(wrong: Json, told: str) -> None:
    with pytest.raises(JobError) as caught:
        job(**wrong)
    (only,) = caught.value.problems
    assert only.startswith(told)


def test_nothing_is_asked_for_by_none() -> None:
    names = ("labels", "annotations", "selector", "env_from", "tolerations", "secret_files", "pod", "queue", "shm")
    assert job(**dict.fromkeys(names)) == job()


def test_memory_to_share_is_half_of_what_there_is_unless_the_trainers_have_more() -> None:
    assert [*map(shm, pods(memory="8Gi", psmemory="2Gi"))] == ["4Gi", "1Gi"]
    assert [*map(shm, pods(memory="8Gi", psmemory="2Gi", shm="6Gi"))] == ["6Gi", "1Gi"]
    assert [*map(shm, pods(memory="8Gi", psmemory="2Gi", together=True))] == ["5Gi"]
    assert [*map(shm, pods(memory="8Gi", psmemory="2Gi", together=True, shm="10Gi"))] == ["10Gi"]
    assert [*map(shm, pods(memory="8Gi", runtime="torch", shm="8Gi"))] == ["8Gi"]


def test_tolerations_are_said_as_taints_are() -> None:
    (pod, _) = pods(tolerations=("gpu", "a/b=c", "a=c:NoExecute", "a=:NoSchedule", "x:PreferNoSchedule"))
    assert pod["tolerations"][2:] == [
        {"key": "gpu", "operator": "Exists"},
        {"key": "a/b", "operator": "Equal", "value": "c"},
        {"key": "a", "operator": "Equal", "value": "c", "effect": "NoExecute"},
        {"key": "a", "operator": "Equal", "value": "", "effect": "NoSchedule"},
        {"key": "x", "operator": "Exists", "effect": "PreferNoSchedule"},
    ]


def test_both_roles_have_what_is_asked_for_and_the_jobs_its_labels() -> None:
    said = {
        "labels": {"team": "a"},
        "annotations": {"who": "me"},
        "queue": "q",
        "selector": {"disk": "ssd"},
        "env_from": "s",
        "secret_files": {"key": "/secrets"},
        "service_account": "me",
        "priority": "high",
        "keep": 0,
        "restarts": 7,
        "gpu_resource": "amd.com/gpu",
        "gpu_nums": 1,
    }
    jobs = [each for each in job(**said).manifests() if each["kind"] == "Job"]
    assert len(jobs) == 2
    for each in jobs:
        template, spec = each["spec"]["template"], each["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        assert {"team": "a", "kueue.x-k8s.io/queue-name": "q"}.items() <= each["metadata"]["labels"].items()
        assert template["metadata"]["labels"]["team"] == "a"
        assert "kueue.x-k8s.io/queue-name" not in template["metadata"]["labels"]
        assert each["metadata"]["annotations"]["who"] == template["metadata"]["annotations"]["who"] == "me"
        assert each["spec"]["ttlSecondsAfterFinished"] == 0
        assert (spec["nodeSelector"], spec["priorityClassName"]) == ({"disk": "ssd"}, "high")
        assert (spec["serviceAccountName"], spec["automountServiceAccountToken"]) == ("me", False)
        assert container["envFrom"] == [{"secretRef": {"name": "s"}}]
        assert {"name": "secret-1", "mountPath": "/secrets", "readOnly": True} in container["volumeMounts"]
        assert {"name": "secret-1", "secret": {"secretName": "key"}} in spec["volumes"]
        assert {"name": "LAUNCHER_MAX_RESTARTS", "value": "7"} in container["env"]
    limits = [each["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] for each in jobs]
    assert limits == [{"memory": "1Gi", "amd.com/gpu": "1"}, {"memory": "1Gi"}]
