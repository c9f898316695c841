"""Jobs side by side: a row for each, of several one for all, and the same as values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from launcher.report.goodput.jobs import JobGoodput, goodput_table, goodput_values, job_goodput
from launcher.report.reading import read_events
from tests.unit.report.goodput.test_account import OLD, ledger, life, made
from tests.unit.report.goodput.test_spending import RUN
from tests.unit.report.test_gang import lines, told


def job(name: str, *events: dict[str, object]) -> JobGoodput:
    return job_goodput(name, read_events(lines(events)))


AGAIN = (
    told(200, "run_started", key="later", job="j"),
    made(205, 1, ranks=1),
    told(300, "verdict", code=7, reason="no luck"),
    ledger(300, 1, life(0, "z", waiting=10, lost=90)),
)


def test_all_runs_of_a_job_are_one_row() -> None:
    found = job("j", *RUN, *AGAIN)
    head, row = goodput_table([found])
    assert list(head) == [
        "JOB",
        "RUNS",
        "LAUNCHERS",
        "WALL",
        "GOODPUT",
        "KEPT",
        "LOST",
        "STARTING",
        "WAITING",
        "LEAVING",
    ]
    assert list(row) == ["j", "2", "2", "3 min 20 s", "46.3 %", "2 min 19 s", "2 min", "29.0 s", "10.0 s", "2 s"]


def test_of_several_jobs_the_last_row_is_of_all() -> None:
    *_, last = goodput_table([job("a", *RUN), job("b", *AGAIN)])
    assert list(last) == ["(all)", "2", "", "3 min 20 s", "46.3 %", "2 min 19 s", "2 min", "29.0 s", "10.0 s", "2 s"]


def test_values_have_each_run_and_what_each_end_of_a_generation_lost() -> None:
    values = json.loads(json.dumps(goodput_values(job("j", *RUN, *AGAIN))))
    first, second = values.pop("runs")
    assert values["seconds"]["kept"] == 139
    assert (values["job"], values["wall"]) == ("j", 200.0)
    assert first["lost_by"] == {"1": 30.0, "2": 0.0}
    begun = {"key": "later", "begun": "2026-11-18 10:03:20.000", "code": 7}
    times = {"launchers": 1, "wall": 100.0, "away": 0.0, "goodput": 0.0, "seconds": {"lost": 90.0, "waiting": 10.0}}
    assert second == {**begun, **times, "lost_by": {"1": 90.0}}


@pytest.mark.parametrize("path", OLD[:1], ids=["0.1.0"])
def test_a_job_of_0_1_0_has_its_runs_and_nothing_else(path: Path) -> None:
    found = job_goodput("old", read_events(path.read_bytes().splitlines()))
    _, row = goodput_table([found])
    assert row[0] == "old"
    assert int(row[1]) >= 1
    assert set(row[2:]) == {""}
    assert set(goodput_values(found)["runs"][0]) == {"key", "begun", "code"}  # type: ignore[index]


def test_no_event_is_no_run() -> None:
    assert job("j").runs == ()
