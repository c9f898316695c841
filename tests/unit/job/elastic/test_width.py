"""How wide a job may be: what it says, what of it cannot be, and what its Job becomes for that."""

from __future__ import annotations

from typing import Any

import pytest

from launcher.contract import Code
from launcher.job import JobError, PaddleJob, Volume
from launcher.job.elastic.width import JobWidth, width_in

CLAIM = (Volume(mount_path="/v", claim="c"),)
RIGHT: dict[str, Any] = {
    "job_name": "j", "runtime_image": "i", "entry_point": "x", "runtime": "torch", "volumes": CLAIM,
    "members": "2:5",
}  # fmt: skip


def lead(**said: Any) -> dict[str, Any]:  # noqa: ANN401  # whatever a job takes
    """Return the Job of the trainers."""
    found: dict[str, Any] = PaddleJob(**{**RIGHT, **said}).manifests()[0]
    return found


def variables(job: dict[str, Any]) -> dict[str, str]:
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each.get("value", "") for each in container["env"]}


@pytest.mark.parametrize(
    ("members", "spares", "width"),
    [
        ("2:5", "", JobWidth(2, 5)),
        ("2:5", "1", JobWidth(2, 5, 1)),
        ("4", "2", JobWidth(4, 4, 2)),
        ("2:5", "one", JobWidth(2, 5)),
        ("5:", "", None),
        ("-1:5", "", None),
        ("", "", None),
        (None, None, None),
    ],
)
def test_a_width_is_read_from_its_text(members: object, spares: object, width: JobWidth | None) -> None:
    assert width_in(members, spares) == width


@pytest.mark.parametrize(
    ("width", "pods", "told"),
    [
        (JobWidth(2, 5), 3, "3 of 2 to 5 pods"),
        (JobWidth(2, 5, 1), 6, "5 of 2 to 5 pods, 1 spare"),
        (JobWidth(2, 5, 1), 5, "5 of 2 to 5 pods"),
        (JobWidth(3, 3, 2), 5, "3 of 3 pods, 2 spares"),
    ],
)
def test_so_many_pods_are_told_beside_how_many_there_may_be(width: JobWidth, pods: int, told: str) -> None:
    assert width.told(pods) == told


def test_there_are_as_many_trainers_as_members_say_at_the_most_and_spares_beside_them() -> None:
    job = PaddleJob(**RIGHT, spares=2)
    assert (job.trainers, job.pservers) == (5, 0)
    assert PaddleJob(**RIGHT, trainers=5, spares=2) == job
    spec = lead(spares=2)["spec"]
    assert (spec["parallelism"], spec["completions"]) == (7, 7)
    told = variables(lead(spares=2))
    assert (told["LAUNCHER_MEMBERS"], told["LAUNCHER_SPARES"]) == ("2:5", "2")
    assert "CONF_PADDLE_GRADIENT_NUM" not in told
    assert PaddleJob(**{**RIGHT, "members": None}).trainers == 3


def test_only_the_trainers_of_an_elastic_job_replace_pods_as_one_does() -> None:
    trainers, pservers, *_ = PaddleJob(**{**RIGHT, "runtime": "", "pservers": 2}).manifests()
    assert trainers["spec"]["podReplacementPolicy"] == "Failed"
    assert trainers["spec"]["successPolicy"] == {"rules": [{"succeededCount": 1}]}
    assert not {"podReplacementPolicy", "podFailurePolicy", "successPolicy"} & set(pservers["spec"])
    assert (pservers["spec"]["parallelism"], pservers["spec"]["backoffLimit"]) == (2, 1)
    assert [variables(each)["LAUNCHER_MEMBERS"] for each in (trainers, pservers)] == ["2:5", "2:5"]


def test_what_a_pod_may_end_with_alone_ends_no_job_and_a_programs_code_does() -> None:
    rule = lead()["spec"]["podFailurePolicy"]["rules"][1]["onExitCodes"]
    assert rule["operator"] == "NotIn"
    alone = {value for name, value in vars(Code).items() if name.isupper()} - {Code.DONE, Code.DATA}
    ended = {128 + number for number in (0, 1, 2, 3, 4, 6, 7, 8, 9, 11, 13, 15)}
    assert set(rule["values"]) == alone | ended | {126, 127, 255}
    assert rule["values"] == sorted(rule["values"]), "or the API server refuses it"


@pytest.mark.parametrize(
    ("said", "least"),
    [({}, "3"), ({"members": "4:5"}, "4"), ({"members": "1:8"}, "5"), ({"members": "5:5", "spares": 1}, "5")],
)
def test_a_queue_may_admit_a_part_that_is_enough_for_a_first_start(said: dict[str, Any], least: str) -> None:
    found = lead(**said, queue="team")["metadata"]["annotations"]
    assert found["kueue.x-k8s.io/job-min-parallelism"] == least
    assert found["kueue.x-k8s.io/job-completions-equal-parallelism"] == "true"


def test_who_says_a_least_for_the_queue_is_heard() -> None:
    said = {"kueue.x-k8s.io/job-min-parallelism": "2"}
    assert lead(queue="team", annotations=said)["metadata"]["annotations"].items() >= said.items()
    plain = lead()["metadata"]["annotations"]
    assert not [name for name in plain if name.startswith("kueue")]
    fixed = lead(members="5:5", queue="team")["metadata"]["annotations"]
    assert not [name for name in fixed if name.startswith("kueue")]


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"members": "5:2"}, "members='5:2': the least is more than the most: expected 2:5"),
        ({"members": "0:5"}, "members='0:5': expected at least 1 pod, such as 1:5"),
        ({"members": "few"}, "members='few': expected MIN:MAX, such as 2:5"),
        ({"members": 5}, "members=5: expected MIN:MAX, such as 2:5"),
        ({"members": "2:1001"}, "members='2:1001': expected at most 1000 pods"),
        ({"members": "2:999", "spares": 2}, "members='2:999' and 2 spares are 1001 pods: expected at most 1000 pods"),
        ({"trainers": 4}, "trainers=4 is not 5, the most of members='2:5': leave it out"),
        ({"trainers": 0}, "trainers=0: expected a whole number from 1 to 1000"),
        ({"spares": -1}, "spares=-1: expected a whole number from 0 to 999"),
        ({"spares": True}, "spares=True: expected a whole number from 0 to 999"),
        ({"spares": 1, "members": ""}, "spares=1 without members: expected MIN:MAX, such as 2:5 of them, beside it"),
        ({"volumes": ()}, "members='2:5' without a record on a volume"),
        ({"env": {"LAUNCHER_RECORD": "none"}}, "members='2:5' without a record on a volume"),
        ({"env": {"LAUNCHER_MEMBERS": "1:5"}}, "env has LAUNCHER_MEMBERS: that is set by members"),
        ({"env": {"LAUNCHER_SPARES": "1"}}, "env has LAUNCHER_SPARES: that is set by spares"),
        ({"job_name": "a" * 62}, "is too long"),
        (
            {"members": "", "annotations": {"kueue.x-k8s.io/job-min-parallelism": "2"}},
            "job-min-parallelism: leave it out, a gang has a fixed number of pods without members",
        ),
    ],
)
def test_what_cannot_be_is_one_sentence(wrong: dict[str, Any], expected: str) -> None:
    with pytest.raises(JobError) as caught:
        PaddleJob(**{**RIGHT, **wrong})
    (told,) = caught.value.problems
    assert expected in told


@pytest.mark.parametrize(
    "right",
    [
        {"members": "5:5", "volumes": ()},
        {"env": {"LAUNCHER_RECORD": "/r"}, "volumes": ()},
        {"runtime": "", "together": True},
    ],
)
def test_a_fixed_number_needs_no_record_and_a_record_of_ones_own_is_one(right: dict[str, Any]) -> None:
    assert PaddleJob(**{**RIGHT, **right}).trainers == 5


def test_a_volume_that_a_datacenter_lends_may_come_later() -> None:
    job = PaddleJob(**{**RIGHT, "volumes": ()}, datacenter="dc")
    with pytest.raises(JobError, match="without a record on a volume"):
        job.manifests()
