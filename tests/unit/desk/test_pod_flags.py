"""The flags for a job's pods, the same said in a datacenter's `defaults:`, and which of two stands."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from launcher.desk import pod_flags
from launcher.desk.arguments import Parser, WrongUsage
from launcher.desk.config.config import parsed_config
from launcher.desk.config.datacenters import Datacenter, equipped, with_defaults
from launcher.desk.errors import Problem
from launcher.job import JobError, PaddleJob
from launcher.job.description import Job

LINE = """-env A=1 -env B=x=y -env A=2 -env-from s -env-from t -label team=a -annotation who=me -queue q
-selector disk=ssd -toleration gpu -toleration a=b:NoSchedule -avoid n1,n2 -avoid n3 -shm 512Mi
-gpu-resource amd.com/gpu -serviceaccount me -priority high -keep 2d -restarts 0
-secret-file key=/secrets -pod one.yaml --pod two.yaml"""
SAID: dict[str, Any] = {
    "env": {"A": "2", "B": "x=y"},
    "env_from": ("s", "t"),
    "labels": {"team": "a"},
    "annotations": {"who": "me"},
    "queue": "q",
    "selector": {"disk": "ssd"},
    "tolerations": ("gpu", "a=b:NoSchedule"),
    "avoid": ("n1", "n2", "n3"),
    "shm": "512Mi",
    "gpu_resource": "amd.com/gpu",
    "service_account": "me",
    "priority": "high",
    "keep": 172_800,
    "restarts": 0,
    "secret_files": {"key": "/secrets"},
    "pod": ({"spec": {"schedulerName": "one.yaml"}}, {"spec": {"schedulerName": "two.yaml"}}),
}
DEFAULTS = """
datacenters:
- name: d
  context: c
  defaults:
    env: {A: 2, B: x=y}
    env-from: [s, t]
    label: {team: a}
    annotation: who=me
    queue: q
    selector: [disk=ssd]
    toleration: [gpu, "a=b:NoSchedule"]
    avoid: [n1, "n2,n3"]
    shm: 512Mi
    gpu-resource: amd.com/gpu
    serviceaccount: me
    priority: high
    keep: 2d
    restarts: 0
    secret-file: {key: /secrets}
    pod: {spec: {schedulerName: one.yaml}}
"""


def parsed(line: str) -> dict[str, Any]:
    parser = Parser()
    pod_flags.add(parser)
    return pod_flags.given_fields(parser.parse_args(line.split()), lambda path: {"spec": {"schedulerName": path}})


def job(**said: Any) -> PaddleJob:  # noqa: ANN401  # whatever a job takes
    return PaddleJob(**{"job_name": "a", "runtime_image": "image", "entry_point": "x", **said})


def datacenter(text: str = DEFAULTS) -> Datacenter:
    return parsed_config(text, "config").datacenters[0]


def test_each_flag_sets_its_parameter() -> None:
    assert parsed(LINE) == SAID
    assert parsed("") == {}
    assert {each.field for each in (*pod_flags.POD_FLAGS, pod_flags.OVERLAY)} <= {each.name for each in fields(Job)}
    job(**SAID)


def test_a_flag_whose_name_is_taken_is_left_out() -> None:
    parser = Parser()
    pod_flags.add(parser, but=("keep",))
    given = parser.parse_args(["-queue", "q"])
    assert not hasattr(given, "keep")
    assert pod_flags.given_fields(given, lambda _: {}, but=("keep",)) == {"queue": "q"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("-env secret", "-env: expected NAME=VALUE, such as OMP_NUM_THREADS=2"),
        ("-label =x", "-label: expected NAME=VALUE"),
        ("-keep soon", "-keep: 'soon': expected a time such as 90s, 10m or 2h"),
        ("-restarts many", "-restarts: 'many': expected a whole number from 0 to 1000"),
        ("-queue", "-queue: expected a value after it"),
    ],
)
def test_what_is_typed_wrong_is_told(line: str, told: str) -> None:
    with pytest.raises(WrongUsage) as caught:
        parsed(line)
    assert told in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_datacenters_defaults_say_the_same() -> None:
    assert datacenter().defaults == {**SAID, "pod": SAID["pod"][:1]}
    assert datacenter("datacenters: [{name: d, context: c, defaults: }]").defaults == {}


@pytest.mark.parametrize(
    ("defaults", "told"),
    [
        ("team-a", "defaults: expected flags of submit without their dash"),
        ("{qeue: a}", "defaults has an unknown key 'qeue': did you mean 'queue'?"),
        ("{env: [hunter2]}", "defaults: env: expected NAME=VALUE"),
        ("{env: {A: true}}", "defaults: env: expected text; put true and false in quotes"),
        ("{queue: [a]}", "defaults: queue: expected text"),
        ("{restarts: 1.5}", "defaults: restarts: '1.5': expected a whole number"),
        ("{pod: hostIPC}", "defaults: pod: expected metadata and spec of a Pod"),
    ],
)
def test_what_is_wrong_in_defaults_is_told_with_its_place(defaults: str, told: str) -> None:
    with pytest.raises(Problem) as caught:
        datacenter(f"datacenters: [{{name: d, context: c, defaults: {defaults}}}]")
    assert f"datacenter 'd': {told}" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_value_of_the_jobs_own_stands_above_and_several_beside() -> None:
    own = job(
        env={"A": "mine"},
        env_from=("t", "u"),
        queue="mine",
        restarts=5,
        keep=0,
        pod={"spec": {"schedulerName": "mine"}},
    )
    both = with_defaults(own, datacenter())
    assert both.env == {"A": "mine", "B": "x=y"}
    assert both.env_from == ("s", "t", "u")
    assert (both.queue, both.restarts, both.keep, both.priority) == ("mine", 5, 0, "high")
    assert [each["spec"]["schedulerName"] for each in both.overlays] == ["one.yaml", "mine"]
    assert both.manifests()[0]["spec"]["template"]["spec"]["schedulerName"] == "mine"
    assert with_defaults(both, datacenter()) == both
    assert with_defaults(own, Datacenter()) is own
    assert equipped(own, datacenter()).priority == "high"


def test_a_default_that_a_job_cannot_have_is_told_as_one() -> None:
    where = "datacenters: [{name: d, context: c, defaults: {shm: 4Gi, queue: Q}}]"
    with pytest.raises(JobError) as caught:
        with_defaults(job(), datacenter(where))
    first, second = caught.value.problems
    assert first.startswith("defaults of datacenter 'd': queue='Q': expected")
    assert second.startswith("defaults of datacenter 'd': shm='4Gi': what is in it")
