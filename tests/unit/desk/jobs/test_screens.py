"""What a terminal shows of jobs with long names: golden text, and what is a sentence of a launcher's own."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from launcher.contract import INDEX_ANNOTATION
from launcher.desk import columns
from launcher.desk.jobs import answers, describe, job_state, lookup, tables
from launcher.desk.jobs.lookup import JobGang
from launcher.job import PaddleJob, Volume
from tests.support.golden_jobs import JOBS

Json = dict[str, Any]
NOW = datetime(2026, 11, 18, 12, 0, 0, tzinfo=UTC)
LONG = PaddleJob(
    job_name="recommendation-with-a-rather-long-name",
    runtime_image="registry.example.com:5000/team/paddle:2.6.2",
    entry_point="python train.py --batch=256",
    trainer_package_path="recommendation",
    cpu_nums=2, memory="8Gi", gpu_nums=1, pservers=2, trainers=3, pscpu="500m", psmemory="2Gi", passes=10,
    registry="team", datacenter="datacenter1", volumes=(Volume("/home/jobpath", claim="mfs"),),
)  # fmt: skip
SHORT = PaddleJob(job_name="demo", runtime_image="r/i:1", entry_point="python t.py", trainers=1, pservers=1)
SCREENS = Path(__file__).parent / "golden"


def gang(asked: PaddleJob, **statuses: Json) -> JobGang:
    """Return a job as the API has it."""
    found = []
    for manifest in asked.manifests():
        if manifest["kind"] == "Job":
            name = manifest["metadata"]["name"]
            manifest["metadata"]["creationTimestamp"] = "2026-11-18T10:00:00Z"
            found.append(
                {**manifest, "status": {"startTime": "2026-11-18T10:00:05Z", **statuses[name.split("-")[-1]]}}
            )
    (made,) = lookup.gangs_of(map(job_state.kube_job, found))
    return made


def a_pod(index: int, status: Json, node: str = "") -> job_state.KubePod:
    metadata = {
        "name": f"{LONG.job_name}-trainer-{index}-x7k2p",
        "labels": {"paddle-job": LONG.job_name},
        "annotations": {INDEX_ANNOTATION: str(index)},
    }
    return job_state.kube_pod({"metadata": metadata, "spec": {"nodeName": node}, "status": status})


WAITING = gang(LONG, trainer={"active": 3, "ready": 2, "failed": 1}, pserver={"active": 2})
COMPLETE = {"type": "Complete", "status": "True"}
DONE = gang(
    SHORT, trainer={"succeeded": 1, "completionTime": "2026-11-18T10:30:00Z", "conditions": [COMPLETE]}, pserver={}
)
PODS = (
    a_pod(0, {"phase": "Running", "startTime": "2026-11-18T10:00:10Z"}, "node-1"),
    a_pod(
        1,
        {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}],
        },
    ),
)


def screen(*rows: tables.Cells) -> str:
    return columns.table([[tables.cell_of(cell) for cell in row] for row in rows]) + "\n"


def test_a_terminals_columns_fit_their_cells() -> None:
    rows = (tables.job_row(number, each, now=NOW) for number, each in enumerate((WAITING, DONE)))
    head = tables.job_head(wide=False, screen=True)
    assert screen(head, *rows) == (SCREENS / "get-jobs.txt").read_text()
    assert screen(tables.WORKERS, *map(tables.worker, PODS)) == (SCREENS / "get-workers.txt").read_text()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("on_screen", [False, True])
def test_each_column_has_a_name(wide: bool, on_screen: bool) -> None:
    row = tables.job_row(0, WAITING, wide=wide, now=NOW if on_screen else None)
    assert len(tables.job_head(wide=wide, screen=on_screen)) == len(row)
    assert len(tables.WIDE_WORKERS if wide else tables.WORKERS) == len(tables.worker(PODS[0], wide=wide))


def test_describe_says_what_was_asked_for_and_why_a_pod_is_not_ready() -> None:
    told = describe.own_sentence([b'{"event": "waiting_for_peers", "reason": "2 of 3 peers have an address"}'])
    first = a_pod(0, {"phase": "Running"}, "node-1")
    pods = (replace(first, why=told), PODS[1])
    page = describe.job_page(WAITING, "train") + describe.pods_page(pods)
    assert page == (SCREENS / "describe.txt").read_text()


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ((), ""),
        ((b"loading", b"{", b'["event"]', b'{"a": 1}'), ""),
        ((b'{"event": "peers_wanted"}', b"Pass=0"), "peers wanted"),
        ((b'{"event": "waiting_for_peers", "reason": "x"}', b'{"event": "staging"}'), "staging"),
        ((b'{"event": "record_trouble", "error": "EIO\\nagain"}',), "EIO again"),
    ],
)
def test_a_launchers_own_sentence_is_its_last_event(lines: tuple[bytes, ...], sentence: str) -> None:
    assert describe.own_sentence(lines) == sentence


@pytest.mark.parametrize(
    ("since", "told"),
    [
        ("2026-11-18T12:00:00Z", "0s"), ("2026-11-18T11:59:01Z", "59s"), ("2026-11-18T11:59:00Z", "1m"),
        ("2026-11-18T10:00:01Z", "1h"), ("2026-11-16T11:00:00Z", "2d"), ("2026-11-18T13:00:00Z", "0s"),
        ("", ""), ("yesterday", ""), ("2026-11-18T10:00:00", ""),
    ],
)  # fmt: skip
def test_an_age_is_told_by_its_largest_unit(since: str, told: str) -> None:
    assert tables.age(since, NOW) == told


def test_a_jobs_values_are_those_of_the_whole() -> None:
    found = answers.job_status(WAITING, "train")
    assert (found.state, found.trainers, found.pservers, found.submitted) == (
        "Starting",
        3,
        2,
        "2026-11-18T10:00:00Z",
    )
    asked = describe.job_asked(WAITING)
    assert asked["trainers"] == {
        "number": 3,
        "requests": {"cpu": "2", "memory": "8Gi"},
        "limits": {"memory": "8Gi", "nvidia.com/gpu": "1"},
    }
    assert (asked["passes"], asked["registries"]) == ("10", ("team",))


def test_pods_of_both_roles_are_told_as_pods() -> None:
    both = JOBS["together"]
    (lead,) = [each for each in both.manifests() if each["kind"] == "Job"]
    (made,) = lookup.gangs_of([job_state.kube_job(lead)])
    assert f"pods:        {both.trainers}, each with cpu " in describe.job_page(made, "n")
