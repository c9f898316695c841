"""What the desk tells of an elastic job: who takes part, who leaves, whom to ask, what its manifest lacks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from launcher.desk.elastic import safety
from launcher.desk.elastic.scale import check_scale
from launcher.desk.elastic.taking_part import gang_width, who_leaves, why_it_ends
from launcher.desk.errors import Problem, as_flag
from launcher.desk.jobs import describe, job_state
from launcher.desk.live import cells
from launcher.desk.live.asking import firsts
from launcher.desk.live.rows import GangLook, gang_head
from launcher.job.elastic.width import JobWidth
from tests.unit.desk.jobs.test_describe import a_job, a_pod, ended, gang

Json = dict[str, Any]
WIDTH = JobWidth(2, 5, 1)
STARTED = "2026-11-18T10:00:00Z"


def told(taking_part: int, *, others: int = 0, stopped: tuple[int, ...] = (), **word: object) -> Json:
    """Return a leader's page: of so many who take part, and others who are there."""
    members = [
        {"address": f"10.0.0.{number}", "role": "node", "rank": number,
         "phase": "stopped" if number in stopped else "training"}
        for number in range(taking_part + others)
    ]  # fmt: skip
    generation = {"number": 1, "members": [{"address": each["address"]} for each in members[:taking_part]]}
    return {"word": {"generation": generation, **word}, "members": members}


@pytest.mark.parametrize(
    ("page", "width", "expected"),
    [
        (told(3), WIDTH, "3 of 2 to 5 pods"),
        (told(5, others=1), WIDTH, "5 of 2 to 5 pods, 1 spare"),
        (told(5, others=2), JobWidth(2, 5, 2), "5 of 2 to 5 pods, 2 spares"),
        (told(3, others=2), WIDTH, "3 of 2 to 5 pods, 2 more"),
        (told(3, others=1, stopped=(3,)), WIDTH, "3 of 2 to 5 pods"),
        (told(3), None, "None"),
        (told(3), JobWidth(3, 3), "None"),
        ({}, WIDTH, "None"),
        ({"word": {"generation": {"members": "all"}}, "members": 3}, WIDTH, "None"),
    ],
)
def test_a_gang_is_as_wide_as_its_start(page: Json, width: JobWidth | None, expected: str) -> None:
    assert str(gang_width(page, width)) == expected


def test_pservers_take_no_part_in_a_width() -> None:
    page = told(3)
    for each in (page["word"]["generation"]["members"][0], page["members"][0]):
        each["role"] = "pserver"
    assert str(gang_width(page, WIDTH)) == "2 of 2 to 5 pods"


def pod(number: int, **more: Any) -> job_state.KubePod:  # noqa: ANN401  # its fields
    found = job_state.kube_pod(a_pod({"running": {"startedAt": STARTED}}, index=str(number)))
    return replace(found, address=f"10.0.0.{number}", **more)


def test_who_was_told_to_stop_leaves_whoever_says_it_first() -> None:
    page = told(4, stopped=(1, 3))
    assert who_leaves(page, [pod(0), pod(1, leaving=True), pod(2, leaving=True)]) == ("pod-1", "node 3", "pod-2")
    assert who_leaves({}, [pod(0, leaving=True, over=True)]) == ()


def test_why_a_start_ends_and_when_is_told() -> None:
    why = "trainer 2 was told to stop"
    assert why_it_ends({"word": {"leaving": {"why": why, "seconds": 11.6}}}) == f"{why}, within 12 s"
    assert why_it_ends({"word": {"leaving": {"why": why, "seconds": float("nan")}}}) == why
    assert why_it_ends({"word": {"leaving": None}}) == ""


def test_describe_and_top_show_both() -> None:
    page = told(3, others=1, stopped=(2,), stage="leaving", leaving={"why": "a node is drained", "seconds": 10})
    text = describe.gang_page(page, WIDTH, [pod(each) for each in range(4)])
    assert "width:       3 of 2 to 5 pods, 1 more\n" in text
    assert "leaving:     pod-2; a node is drained, within 10 s\n" in text
    pods = tuple(pod(each) for each in range(4))
    head = gang_head(GangLook(at=0, state="Running", gang=page, width=WIDTH, pods=pods))
    first, *others = cells.head_lines("j", head)
    assert first == "job j: Running, leaving, generation 1, 3 of 2 to 5 pods, 1 more, 0 restarts"
    assert others == ["leaving: pod-2; a node is drained, within 10 s"]
    values = cells.top_values("j", "n", head, ())
    assert values["width"] == {"pods": 3, "least": 2, "most": 5, "spares": 1, "beside": 1}


def an_elastic(name: str = "paddle-cluster-job-trainer", members: str = "2:5", **more: Any) -> Json:  # noqa: ANN401  # a Job's
    """Return a Job that says its width."""
    env = [{"name": "LAUNCHER_MEMBERS", "value": members}, {"name": "LAUNCHER_SPARES", "value": "1"}]
    pod = {"template": {"spec": {"containers": [{"name": "trainer", "env": env}]}}}
    return a_job(name, **{**more, "spec": {"parallelism": 6, **pod, **more.get("spec", {})}})


def test_a_job_says_its_width_and_runs_with_its_least() -> None:
    lead = job_state.kube_job(an_elastic(active=6, ready=2))
    assert (lead.width, lead.wanted, lead.most) == (WIDTH, 6, 5)
    assert lead.state == "Running"
    assert job_state.kube_job(an_elastic(active=6, ready=1)).state == "Starting"
    assert [job_state.kube_job(an_elastic(active=each)).short for each in (1, 2)] == [True, False]
    assert describe.asked_of(lead) == "5 of 2 to 5 pods, 1 spare"
    pserver = an_elastic(leads=False)
    pserver["spec"]["template"]["spec"]["containers"][0]["env"].append({"name": "LAUNCHER_ROLE", "value": "pserver"})
    assert job_state.kube_job(pserver).width is None


def test_an_elastic_gang_is_asked_in_its_first_pods_and_another_in_the_first() -> None:
    elastic = [pod(number, elastic=True) for number in (4, 2, 1, 3)]
    assert [each.rank for each in firsts(elastic)] == [1, 2, 3]
    assert [each.rank for each in firsts([pod(1), pod(0), pod(2)])] == [0]
    assert firsts([pod(1), pod(2)]) == []
    of_env = a_pod({"running": {}})
    of_env["spec"]["containers"][0]["env"] = [{"name": "LAUNCHER_MEMBERS", "value": "2:5"}]
    assert job_state.kube_pod(of_env).elastic


@pytest.mark.parametrize(
    ("job", "pods", "suspend", "expected"),
    [
        (an_elastic(), 3, False, ""),
        (an_elastic(), 6, False, ""),
        (an_elastic(), 0, False, "cannot have 0 pods: `paddlectl suspend paddle-cluster-job` ends all"),
        (an_elastic(), 1, False, "cannot have 1 pods: expected 2 to 6 (2 to 5 pods, 1 spare)"),
        (an_elastic(), 7, False, "cannot have 7 pods: expected 2 to 6"),
        (a_job(), 3, False, "has a fixed number of pods, 3: submit it again with -members MIN:MAX and --replace"),
        (an_elastic(conditions=ended("Complete")), 3, False, "is complete since 2026-11-18T10:00:00Z: only a job"),
        (an_elastic(killed=True, spec={"suspend": True}), 3, False, "was killed: only a job that goes on"),
        (an_elastic(spec={"suspend": True}, startTime=STARTED), 3, False, ""),
        (an_elastic(), 3, True, "is in no queue, and changes its number of pods while it runs: leave --suspend out"),
        (an_elastic(queue="q"), 3, False, "is in the queue q, and Kueue refuses another number of pods"),
        (an_elastic(queue="q"), 3, True, ""),
        (an_elastic(queue="q", spec={"suspend": True}), 3, False, ""),
    ],
)  # fmt: skip
def test_a_width_that_a_job_cannot_have_is_refused(job: Json, pods: int, suspend: bool, expected: str) -> None:
    if not expected:
        check_scale(gang(job), pods, suspend=suspend)
        return
    with pytest.raises(Problem) as caught:
        check_scale(gang(job), pods, suspend=suspend)
    (said,) = caught.value.spelled(as_flag)
    assert expected in said


def test_an_elastic_job_that_may_have_two_pods_of_one_index_is_told_of() -> None:
    careless = an_elastic("careless")
    careful = an_elastic("careful", spec={"podReplacementPolicy": "Failed"})
    over = an_elastic("over", conditions=ended("Failed"))
    jobs = safety.of_elastic(map(job_state.kube_job, (careless, careful, over, a_job(), an_elastic(members="5:4"))))
    found = safety.elastic_finding([each for each in jobs if each.name in ("careless", "careful")])
    assert found.sentence.startswith("careless lacks `podReplacementPolicy: Failed`")
    assert "kubectl patch job careless -p" in found.remedy
    assert safety.elastic_finding([job_state.kube_job(careful)]).good
    assert "over" not in {each.name for each in jobs}
    assert "careless lacks `podReplacementPolicy: Failed`" in describe.unsafe_width(gang(careless))
    assert describe.unsafe_width(gang(careful)) == describe.unsafe_width(gang(a_job())) == ""
