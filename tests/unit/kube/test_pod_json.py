"""Pods' JSON: what is read from it, and that nothing in it can do harm."""

from __future__ import annotations

import json

import pytest
import yaml  # type: ignore[import-untyped]  # comes with kubernetes, for reading one text
from hypothesis import given
from hypothesis import strategies as st

from launcher.contract import INDEX_ANNOTATION
from launcher.kube import objects, pod_json, rbac
from launcher.kube.pod_json import Seen
from launcher.kube.watch import Gone, lines
from launcher.pod.outcome import TERMINATION_LIMIT
from tests.support.pods import UID, pod, unschedulable, waiting


def test_a_running_pod_is_read_whole() -> None:
    given = pod("job-abc", "10.0.0.9", uid="u-1", index=4, hostname="job-4", created="2026-11-18T07:00:00Z")
    assert pod_json.seen(given) == Seen(
        name="job-abc",
        uid="u-1",
        phase="Running",
        address="10.0.0.9",
        owner=UID,
        created="2026-11-18T07:00:00Z",
        hostname="job-4",
        index=4,
        node="node-a",
    )


def test_only_the_controller_among_the_owners_counts() -> None:
    given = pod("job-abc", "10.0.0.9", owner="")
    given["metadata"]["ownerReferences"] = [{"uid": "a"}, {"uid": "b", "controller": "true"}]
    assert pod_json.seen(given).owner == ""
    given["metadata"]["ownerReferences"].append({"uid": "c", "controller": True})
    assert pod_json.seen(given).owner == "c"


@pytest.mark.parametrize("text", ["", "-1", "x", "1.5", "٣", "1234567890", " 1"])
def test_an_index_is_digits_or_nothing(text: str) -> None:
    assert pod_json.seen(pod("a", index=text)).index is None


def test_an_index_may_stand_in_the_label_alone() -> None:
    assert pod_json.seen(pod("a", labels={INDEX_ANNOTATION: "7"})).index == 7


@pytest.mark.parametrize(("text", "address"), [("FD00:0::1", "fd00::1"), ("10.0.0.300", ""), ("localhost", "")])
def test_an_address_is_an_address(text: str, address: str) -> None:
    assert pod_json.seen(pod("a", text)).address == address


def state(**states: dict[str, object]) -> dict[str, object]:
    return {"containerStatuses": [{"name": "trainer", "state": states}]}


WHY = {
    "unschedulable": (unschedulable("0/2 nodes"), "is not scheduled: Unschedulable: 0/2 nodes"),
    "scheduled": ({"conditions": [{"type": "PodScheduled", "status": "True"}]}, ""),
    "image": (
        waiting("ImagePullBackOff", "Back-off"),
        "waits for its container trainer: ImagePullBackOff: Back-off",
    ),
    "creating": (waiting("ContainerCreating"), "waits for its container trainer: ContainerCreating"),
    "killed": (
        state(terminated={"exitCode": 137, "reason": "OOMKilled"}),
        "lost its container trainer with code 137: OOMKilled",
    ),
    "ended well": (state(terminated={"exitCode": 0}), ""),
    "running": (state(running={"startedAt": "2026-11-18T07:00:00Z"}), ""),
    "init": (
        {"initContainerStatuses": [{"name": "fetch", "state": {"running": {}}}], **waiting("PodInitializing")},
        "is still running its init container fetch",
    ),
    "init waits": (
        {"initContainerStatuses": [{"name": "fetch", "state": {"waiting": {"reason": "ErrImagePull"}}}]},
        "waits for its init container fetch: ErrImagePull",
    ),
    "init ended": (
        {"initContainerStatuses": [{"name": "fetch", "state": {"terminated": {"exitCode": 0}}}]},
        "",
    ),
    "evicted": ({"reason": "Evicted", "message": "low on disk"}, "is Pending: Evicted: low on disk"),
    "nothing": ({}, ""),
}


@pytest.mark.parametrize("case", WHY)
def test_why_a_pod_is_not_running(case: str) -> None:
    status, expected = WHY[case]
    assert pod_json.seen(pod("a", phase="Pending", status=status)).why == expected


def test_a_dying_pod_and_one_without_an_address_say_so() -> None:
    assert pod_json.seen(pod("a", "10.0.0.9", leaving=True)).why == "is being deleted"
    assert pod_json.seen(pod("a")).why == "is Running without an address yet"


@pytest.mark.parametrize(
    ("told", "grace"), [(30, 30.0), (0, 0.0), (-1, 0.0), ("30", 0.0), (10**400, 0.0), (None, 0.0)]
)
def test_a_dying_pods_grace_is_a_number_of_seconds(told: object, grace: float) -> None:
    assert pod_json.seen(pod("a", leaving=True, grace=told)).grace == grace


def test_a_dying_pod_that_ran_out_of_memory_says_that() -> None:
    ended = {
        code: state(terminated={"exitCode": code, "reason": why})
        for code, why in ((137, "OOMKilled"), (143, "Error"))
    }
    said = [pod_json.seen(pod("a", "10.0.0.9", leaving=True, status=ended[code])).why for code in (137, 143)]
    assert said == ["lost its container trainer with code 137: OOMKilled", "is being deleted"]


def test_a_message_is_one_bounded_printable_line() -> None:
    said = objects.one_sentence("a\n b\x00\ud800" + "c" * 1000)
    assert said.startswith("a b??c")
    assert said.endswith("...")
    assert len(said) == objects.SENTENCE_LIMIT
    assert objects.one_sentence(7) == ""


def test_a_list_is_its_items_and_its_version() -> None:
    text = json.dumps({"metadata": {"resourceVersion": "7"}, "items": [pod("a"), 3]}).encode()
    found = objects.objects_listed(text)
    assert found is not None
    assert (len(found[0]), found[1]) == (1, "7")


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"{", b'{"items": []}', b'{"metadata": {"resourceVersion": "7"}}', b"\xff", b"[" * 100_000],
)
def test_what_is_no_list_is_none(text: bytes) -> None:
    assert objects.objects_listed(text) is None


def test_a_line_is_a_change_or_none() -> None:
    body = {"metadata": {"name": "a", "resourceVersion": "7"}}
    change = objects.changed(json.dumps({"type": "ADDED", "object": body}).encode())
    assert change == objects.Change(kind="ADDED", found=body, version="7")
    assert objects.changed(b'{"object": {}}') is None
    assert objects.changed(b"half a li") is None


def test_a_refusal_says_its_message_or_else_its_text() -> None:
    assert objects.message(b'{"message": "pods is forbidden"}') == "pods is forbidden"
    assert objects.message(b"<html>bad\ngateway") == "<html>bad gateway"


def test_a_label_is_text_or_none() -> None:
    text = json.dumps(pod("a", labels={"x": "y", "z": 7})).encode()
    assert [pod_json.label(text, name) for name in ("x", "z", "missing")] == ["y", None, None]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
# The names that matter, with anything at all under them.
NAMES = [
    INDEX_ANNOTATION,
    "metadata",
    "spec",
    "status",
    "name",
    "uid",
    "phase",
    "podIP",
    "ownerReferences",
    "controller",
    "annotations",
    "labels",
    "conditions",
    "type",
    "reason",
    "containerStatuses",
    "initContainerStatuses",
    "state",
    "waiting",
    "terminated",
    "running",
    "exitCode",
    "message",
]
names = st.sampled_from(NAMES)
likely = st.recursive(
    anything | st.sampled_from(["Running", "PodScheduled", "False", "10.0.0.9"]),
    lambda inner: st.dictionaries(names, inner, max_size=6) | st.lists(inner, max_size=2),
    max_leaves=30,
)


@given(st.one_of(anything, likely))
def test_no_json_raises_or_makes_a_peer_without_an_owner(value: object) -> None:
    found = pod_json.seen(value)
    assert json.dumps([found.name, found.uid, found.owner, found.address, found.why]).encode()
    f"{found.name} {found.uid} {found.owner} {found.address} {found.why}".encode()
    assert found.index is None or found.index >= 0


@given(st.one_of(st.binary(), st.one_of(anything, likely).map(lambda value: json.dumps(value).encode())))
def test_no_bytes_raise(text: bytes) -> None:
    objects.objects_listed(text)
    objects.changed(text)
    objects.message(text)
    pod_json.label(text, "job-name")


@given(st.lists(st.binary(min_size=1).map(lambda line: line.replace(b"\n", b"?"))), st.binary(), st.integers(1, 9))
def test_lines_come_whole_however_they_were_cut(whole: list[bytes], half: bytes, size: int) -> None:
    text = b"".join(line + b"\n" for line in whole) + half.replace(b"\n", b"?")
    parts = [text[start : start + size] for start in range(0, len(text), size)] + [b""]
    assert [line for some in lines(iter(parts).__next__) for line in some] == [line for line in whole if line.strip()]


def test_a_line_beyond_the_limit_is_given_up() -> None:
    with pytest.raises(Gone, match="over 10 bytes"):
        list(lines(iter([b"12345678", b"9012", b""]).__next__, 10))


@pytest.mark.parametrize(
    ("said", "account", "home"),
    [
        ('User "system:serviceaccount:other:trainer" cannot list resource "pods"', "trainer", "other"),
        ('User "system:anonymous" cannot', "default", "jobs"),
        ("x" * 300, "default", "jobs"),
    ],
)
def test_a_missing_right_is_told_with_the_role_to_apply(said: str, account: str, home: str) -> None:
    text = rbac.missing_right(said, "jobs")
    assert said in text
    assert len(text.encode()) < TERMINATION_LIMIT
    role, binding = yaml.safe_load_all(text.partition(":\napi")[2].join(["api", ""]))
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
    assert (role["metadata"]["namespace"], binding["metadata"]["namespace"]) == ("jobs", "jobs")
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": home}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
