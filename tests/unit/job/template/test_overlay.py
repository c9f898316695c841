"""What an overlay makes of a template: histories of Kubernetes' strategic merge, and what cannot be merged."""

from __future__ import annotations

import copy
from datetime import date
from typing import Any

import pytest

from launcher.contract import NODE, PSERVER, TRAINER
from launcher.job.template.overlay import WrongOverlay, avoiding, for_role, merged

Json = dict[str, Any]
POD: Json = {
    "metadata": {"labels": {"a": "1"}},
    "spec": {
        "restartPolicy": "Never",
        "securityContext": {"runAsUser": 1, "seccompProfile": {"type": "RuntimeDefault"}},
        "tolerations": [{"key": "x", "operator": "Exists"}],
        "volumes": [{"name": "work", "emptyDir": {}}, {"name": "shm", "emptyDir": {"medium": "Memory"}}],
        "containers": [
            {
                "name": "trainer",
                "command": ["start_paddle", "--"],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "envFrom": [{"secretRef": {"name": "s"}}],
                "volumeMounts": [{"name": "work", "mountPath": "/work"}],
                "ports": [{"name": "status", "containerPort": 7170}],
            }
        ],
    },
}


def spec(**over: Any) -> Json:  # noqa: ANN401  # whatever an overlay has
    found: Json = merged(POD, {"spec": over})["spec"]
    return found


def trainer(**over: Any) -> Json:  # noqa: ANN401  # whatever an overlay has
    (found,) = spec(containers=[{"name": "trainer", **over}])["containers"]
    return dict(found)


def test_fields_are_put_beside_each_other_and_null_takes_one_away() -> None:
    assert merged(POD, {}) == POD
    assert merged(POD, {"metadata": {"labels": {"b": "2"}}})["metadata"]["labels"] == {"a": "1", "b": "2"}
    assert spec(securityContext={"runAsUser": 5})["securityContext"] == {
        "runAsUser": 5,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert "runAsUser" not in spec(securityContext={"runAsUser": None})["securityContext"]
    assert "hostIPC" not in spec(hostIPC=None)
    assert spec(hostIPC=True, priority=7, schedulerName="volcano")["schedulerName"] == "volcano"
    assert spec(affinity={"nodeAffinity": {"x": None, "y": [1, {"z": None}]}})["affinity"] == {
        "nodeAffinity": {"y": [1, {}]}
    }


def test_what_is_merged_stays_as_it_was() -> None:
    before, over = copy.deepcopy(POD), {"spec": {"containers": [{"name": "trainer", "env": [{"name": "A"}]}]}}
    kept = copy.deepcopy(over)
    merged(POD, over)
    assert (before, kept) == (POD, over)


@pytest.mark.parametrize(
    ("key", "over", "expected"),
    [
        ("env", {"name": "B", "value": "3"}, [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}]),
        (
            "env",
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "p"}}},
            [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "p"}}}, {"name": "B", "value": "2"}],
        ),
        ("env", {"name": "A", "$patch": "delete"}, [{"name": "B", "value": "2"}]),
        (
            "volumeMounts",
            {"mountPath": "/x", "name": "x"},
            [{"name": "work", "mountPath": "/work"}, {"mountPath": "/x", "name": "x"}],
        ),
        (
            "volumeMounts",
            {"mountPath": "/work", "subPath": "a"},
            [{"name": "work", "mountPath": "/work", "subPath": "a"}],
        ),
        ("ports", {"containerPort": 7170, "hostPort": 1}, [{"name": "status", "containerPort": 7170, "hostPort": 1}]),
        ("envFrom", {"secretRef": {"name": "t"}}, [{"secretRef": {"name": "s"}}, {"secretRef": {"name": "t"}}]),
        ("envFrom", {"secretRef": {"name": "s"}}, [{"secretRef": {"name": "s"}}]),
        ("command", "other", ["other"]),
        ("args", "new", ["new"]),
    ],
)
def test_lists_of_a_container_are_merged_by_their_key(key: str, over: object, expected: list[object]) -> None:
    assert trainer(**{key: [over]})[key] == expected


def test_lists_of_a_pod_are_merged_by_their_key_and_tolerations_are_added() -> None:
    volumes = spec(volumes=[{"name": "work", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "new"}])[
        "volumes"
    ]
    assert volumes == [
        {"name": "work", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
        {"name": "new"},
    ]
    limited = spec(volumes=[{"name": "shm", "emptyDir": {"sizeLimit": "1Gi"}}])["volumes"][1]
    assert limited == {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}
    assert spec(volumes=[{"name": "shm"}])["volumes"] == POD["spec"]["volumes"]
    assert spec(tolerations=({"key": "y"},))["tolerations"] == [{"key": "x", "operator": "Exists"}, {"key": "y"}]
    assert [each["name"] for each in spec(containers=[{"name": "side"}])["containers"]] == ["trainer", "side"]
    assert spec(containers=[{"name": "trainer", "$patch": "delete"}])["containers"] == []
    assert spec(hostAliases=[{"ip": "1.2.3.4", "hostnames": ["a"]}])["hostAliases"][0]["hostnames"] == ["a"]


def test_a_directive_replaces_or_deletes_what_is_there() -> None:
    assert spec(securityContext={"$patch": "replace", "runAsUser": 2})["securityContext"] == {"runAsUser": 2}
    assert "securityContext" not in spec(securityContext={"$patch": "delete"})


@pytest.mark.parametrize(
    ("over", "told"),
    [
        ({"spec": ["a"]}, "pod.spec is a list: expected a mapping"),
        ({"spec": {"volumes": {"name": "a"}}}, "pod.spec.volumes is a mapping: expected a list"),
        ({"spec": {"restartPolicy": {}}}, "pod.spec.restartPolicy is a mapping: expected a single value"),
        ({"spec": {"tolerations": "x"}}, "pod.spec.tolerations is a single value: expected a list"),
        ({"spec": {"containers": [{"image": "i"}]}}, "pod.spec.containers[0] has no name: expected it, as such"),
        ({"spec": {"containers": ["trainer"]}}, "pod.spec.containers[0] has no name"),
        (
            {"spec": {"containers": [{"name": "trainer", "volumeMounts": [{"name": "w"}]}]}},
            "pod.spec.containers[trainer].volumeMounts[0] has no mountPath",
        ),
        ({"spec": {"$setElementOrder/containers": []}}, "pod.spec has '$setElementOrder/containers': expected"),
        ({"spec": {"securityContext": {"$patch": "merge"}}}, "pod.spec.securityContext has '$patch': expected"),
        ({"spec": {True: 1}}, "pod.spec has True: expected a field's name"),
        ({"metadata": {"annotations": {"day": date(2026, 1, 2)}}}, "pod.metadata.annotations.day is datetime.date("),
    ],
)
def test_what_cannot_be_merged_is_told_with_its_place(over: Json, told: str) -> None:
    with pytest.raises(WrongOverlay) as caught:
        merged(POD, over)
    assert str(caught.value).startswith(told)


def test_a_container_of_a_role_is_meant_in_the_pods_of_that_role_alone() -> None:
    parts = [{"name": "trainer"}, {"name": "pserver"}, {"name": "side"}, "odd"]
    over = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": parts, "hostIPC": True}}
    trains = {"spec": {"containers": [parts[0], parts[2], "odd"], "hostIPC": True}}
    assert for_role(over, TRAINER) == for_role(over, NODE) == trains
    assert for_role(over, PSERVER) == {"spec": {"containers": [*parts[1:]], "hostIPC": True}}
    others: tuple[Json, ...] = ({}, {"spec": None}, {"spec": {"containers": "x"}}, {"metadata": {}})
    for other in others:
        assert for_role(other, TRAINER) == other


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NOT_THERE = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["b", "c"]}
SSD = {"key": "disk", "operator": "In", "values": ["ssd"]}
ZONE = {"key": "zone", "operator": "In", "values": ["eu"]}


@pytest.mark.parametrize(
    ("terms", "merged_terms"),
    [
        (None, [{"matchExpressions": [NOT_THERE]}]),
        ([], [{"matchExpressions": [NOT_THERE]}]),
        (
            [{"matchExpressions": [SSD]}, {"matchExpressions": [ZONE]}],
            [{"matchExpressions": [SSD, NOT_THERE]}, {"matchExpressions": [ZONE, NOT_THERE]}],
        ),
        ([{"matchFields": [SSD]}], [{"matchFields": [SSD], "matchExpressions": [NOT_THERE]}]),
        ([{}], [{}]),
    ],
    ids=["no affinity", "no term", "one of several terms is enough", "fields", "a term that no node fits"],
)
def test_nodes_are_avoided_whatever_else_is_asked_of_them(terms: Any, merged_terms: Any) -> None:  # noqa: ANN401  # as JSON has it
    said: Json = {"podAntiAffinity": {"x": 1}, "nodeAffinity": {"preferred": [1]}}
    if terms is not None:
        said["nodeAffinity"][REQUIRED] = {"nodeSelectorTerms": terms}
    asked = merged(POD, {"spec": {"affinity": said}})
    before = copy.deepcopy(asked)
    found = avoiding(asked, ("b", "c"))["spec"]["affinity"]
    assert found["nodeAffinity"] == {"preferred": [1], REQUIRED: {"nodeSelectorTerms": merged_terms}}
    assert found["podAntiAffinity"] == {"x": 1}
    assert asked == before
    assert avoiding(asked, ()) is asked


@pytest.mark.parametrize(
    "wrong", [[], "x", {"nodeAffinity": 3}, {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": ["x"]}}}]
)
def test_an_affinity_that_is_none_is_refused_where_nodes_are_avoided(wrong: object) -> None:
    with pytest.raises(WrongOverlay, match="affinity is no NodeAffinity"):
        avoiding({**POD, "spec": {**POD["spec"], "affinity": wrong}}, ("b",))
