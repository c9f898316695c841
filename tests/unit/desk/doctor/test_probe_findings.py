"""What the doctor makes of what its pods saw: whatever is wrong has a remedy."""

from __future__ import annotations

import pytest

from launcher.contract import DOCTOR_LABEL
from launcher.desk.config.datacenters import Storage
from launcher.desk.doctor import probe_findings
from launcher.desk.doctor.checks import Finding
from launcher.desk.doctor.probe import probe_manifest
from launcher.desk.jobs.job_state import kube_pod

MIB = 1 << 20
NODES = ("node-1", "node-2")


def tried(status: dict[str, object], launcher_image: str = "init") -> Finding:
    inits = [{"name": "launcher", "image": "init"}] if launcher_image else []
    spec = {"initContainers": inits, "containers": [{"name": "trainer", "image": "any"}]}
    pod = kube_pod({"metadata": {"name": "p"}, "spec": spec, "status": status})
    return probe_findings.image_tried("any", launcher_image, pod)


def bringing(**state: object) -> dict[str, object]:
    return {"phase": "Pending", "initContainerStatuses": [{"name": "launcher", "state": state}]}


SUCCEEDED: dict[str, object] = {"phase": "Succeeded"}
NOEXEC = {"exitCode": 71, "message": "is mounted\nnoexec"}
CPU = {"exitCode": 128, "message": "exec format error"}
FULL = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes: Insufficient cpu"}
NEEDS = "k8s/any-image/README.md says what an image needs"


@pytest.mark.parametrize(
    ("found", "good", "told", "remedy"),
    [
        (tried(SUCCEEDED), True, "any can be pulled, and starts: init brings the launcher into it", ""),
        (tried(SUCCEEDED, ""), True, "any can be pulled, and starts: it has the launcher", ""),
        (
            tried(bringing(waiting={"reason": "ErrImagePull"})),
            False,
            "image cannot be pulled",
            "is init its name?",
        ),
        (tried(bringing(terminated=NOEXEC)), False, "ended with 71: is mounted noexec", NEEDS),
        (
            tried({"phase": "Failed", "containerStatuses": [{"name": "trainer", "state": {"terminated": CPU}}]}),
            False,
            "any is for another CPU than the node's",
            "then run this command again",
        ),
        (
            tried({"phase": "Pending", "conditions": [FULL]}),
            False,
            "no node takes it: 0/1 nodes: Insufficient",
            NEEDS,
        ),
        (tried({"phase": "Pending"}), False, "a pod of any does not start: Pending", NEEDS),
    ],
)
def test_what_an_image_came_to(found: Finding, good: bool, told: str, remedy: str) -> None:
    assert (found.what, found.good) == ("image", good)
    assert told in found.sentence
    assert found.remedy.startswith(remedy)
    assert bool(found.remedy) != good


def together(*, nodes: tuple[str, str] = NODES, seen: bool = True, excluded: bool = True) -> Finding:
    return probe_findings.together(nodes, seen=seen, milliseconds=1240, excluded=excluded, within=30)


@pytest.mark.parametrize(
    ("found", "good", "told"),
    [
        (
            probe_findings.image("i", paddle="2.6.2", command="/p/paddle"),
            True,
            "2.6.2 for `python`; `paddle train` is /p/pa",
        ),
        (probe_findings.image("i", paddle="", command=""), True, "it contains no Paddle"),
        (probe_findings.brought("init"), True, "init can be pulled and brings the launcher into any image"),
        (probe_findings.shm_seen(512 * MIB), True, "512 MiB"),
        (probe_findings.shm_seen(64 * MIB), False, "gets 64 MiB"),
        (probe_findings.write_finding("", ""), True, "write, create exclusively and rename files"),
        (
            probe_findings.write_finding("write a file", "permission denied"),
            False,
            "cannot write a file on it: permission denied",
        ),
        (probe_findings.write_finding("rename a file", "operation not permitted"), False, "cannot rename a file"),
        (probe_findings.write_finding("write a file", "no space is left there"), False, "no space is left"),
        (together(), True, "two pods on two nodes share the volume: a file was seen after 1.2 s"),
        (together(nodes=("n", "n")), True, "on one node, n, where both were started"),
        (
            together(seen=False),
            False,
            "two pods on two nodes do not share the volume: a file was not seen within 30 s",
        ),
        (together(excluded=False), False, "could both create the same file exclusively"),
        (probe_findings.no_second("Multi-Attach error"), False, "Multi-Attach error"),
        (probe_findings.name_finding("h", 2, wanted=2, why="", milliseconds=80), True, "all 2 pods after 0.1 s"),
        (
            probe_findings.name_finding("h", 1, wanted=2, why="", milliseconds=20000),
            False,
            "has the addresses of 1 of 2 pods after 20 s",
        ),
        (
            probe_findings.name_finding("h", 0, wanted=2, why="not known", milliseconds=1),
            False,
            "has no address (not known)",
        ),
        (probe_findings.no_image("dc"), True, "dc has no `image:`"),
        (probe_findings.no_pod("i", "it cannot start: its image cannot be pulled (X)"), False, "cannot be pulled"),
        (probe_findings.no_pod("i", "it cannot start: ended with 128 (StartError)"), False, "has no /opt/launcher"),
        (probe_findings.no_pod("i", "expected bye or list, not 'probe'"), False, "of this version"),
        (probe_findings.no_pod("i", "no node takes it: 0/2 nodes"), False, "no node takes it"),
    ],
)
def test_each_is_a_sentence_and_a_remedy_where_it_is_wrong(found: Finding, good: bool, told: str) -> None:
    assert (found.good, bool(found.remedy)) == (good, not good)
    assert told in found.sentence


@pytest.mark.parametrize(
    ("by_rank", "under_data", "good", "told"),
    [
        ((), (), True, "none in /j"),
        ((0, 1, 2), (), True, "/j/<rank>/data: 3 for 3 trainers"),
        ((), range(7), True, "/j/data/<rank>: 7 for 3 trainers"),
        ((0, 2), (), False, "missing 1; there are 2 for 3 trainers"),
        ((1, 2, 3), (), False, "missing 0"),
        ((0, 1), (), False, "missing 2"),
        ((), (0, 1, 2, 4), False, "missing 3"),
        ((0,), (0,), False, "both layouts"),
    ],
)
def test_shards_are_judged_as_trainers_will(
    by_rank: tuple[int, ...], under_data: tuple[int, ...], good: bool, told: str
) -> None:
    found = probe_findings.shards_finding("/j", 3, by_rank=by_rank, under_data=under_data)
    assert (found.good, bool(found.remedy)) == (good, not good)
    assert told in found.sentence


def test_a_probe_has_what_a_jobs_pod_has_and_stays_apart_from_the_other() -> None:
    made = probe_manifest("n-1", "i", Storage(claim="mfs", path="a"), pair="t", restricted=True, registries=("r",))
    spec = made["spec"]
    assert [each["name"] for each in spec["volumes"]] == ["volume", "shm"]
    assert spec["containers"][0]["volumeMounts"][1] == {"name": "shm", "mountPath": "/dev/shm"}
    (apart,) = spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert apart["podAffinityTerm"]["labelSelector"] == {"matchLabels": {DOCTOR_LABEL: "t"}}
    assert made["metadata"]["labels"][DOCTOR_LABEL] == "t"
    assert spec["securityContext"]["runAsNonRoot"]
    without = probe_manifest("n-1", "i", None, pair="t", restricted=True, registries=())
    assert without["spec"]["volumes"][0] == {"name": "volume", "emptyDir": {}}
