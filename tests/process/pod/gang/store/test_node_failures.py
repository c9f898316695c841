"""The record of what failed on which node: one line each, kept over runs, never too large, whatever lies there."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from launcher.contract import NODE_FAILURES
from launcher.pod.gang.protocol.state import NodeFailure
from launcher.pod.gang.store.node_failures import MOST_BYTES, NEWEST, NodeFailures
from launcher.pod.gang.store.record import RecordError
from launcher.pod.gang.store.recorder import Recorder
from launcher.pod.gang.store.runs import Runs
from tests.support.keeping import JOB, Told, generation, output_in, record_in
from tests.support.waiting import wait_until

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FAILED = NodeFailure(
    run="key", generation=1, node="node-b", role="node", rank=1, code=7, lost=False, reason="trainer 1 exited with 7"
)
LINE: dict[str, Any] = {
    "at": "2026-01-02T03:04:05Z",
    "run": "key",
    "generation": 1,
    "node": "node-b",
    "role": "node",
    "rank": 1,
    "code": 7,
    "lost": False,
    "reason": "trainer 1 exited with 7",
}


def kept(top: Path) -> NodeFailures:
    found = NodeFailures(clock=lambda: AT)
    found.keep(output_in(top))
    return found


def add(top: Path, *failures: NodeFailure) -> NodeFailures:
    found = kept(top)
    for each in failures:
        found.wish(each)
        found.keep(output_in(top))
    return found


def file_in(top: Path) -> Path:
    return top / JOB / "output" / NODE_FAILURES


def test_each_failure_is_one_line_that_the_next_launcher_reads(tmp_path: Path) -> None:
    later = replace(FAILED, generation=2, node="", rank=None, lost=True)
    assert add(tmp_path, FAILED, later).settled
    first, second = map(json.loads, file_in(tmp_path).read_text().splitlines())
    assert first == LINE
    assert second == {**LINE, "generation": 2, "node": "", "rank": None, "lost": True}
    assert kept(tmp_path).known == (replace(FAILED, at=LINE["at"]), replace(later, at=LINE["at"]))


def test_the_end_of_a_generation_is_noted_once_whoever_saw_it(tmp_path: Path) -> None:
    other = replace(FAILED, reason="node 0, the leader, was lost", lost=True)
    first, second = kept(tmp_path), kept(tmp_path)
    for each, failure in ((first, FAILED), (second, other), (first, FAILED)):
        each.wish(failure)
        each.keep(output_in(tmp_path))
    assert len(file_in(tmp_path).read_text().splitlines()) == 1
    assert add(tmp_path, replace(FAILED, run="another")).known[-1].run == "another"
    assert len(file_in(tmp_path).read_text().splitlines()) == 2


def test_a_failure_counts_before_the_volume_has_it(tmp_path: Path) -> None:
    found = NodeFailures(clock=lambda: AT)
    assert found.wish(FAILED)
    assert not found.wish(FAILED)
    assert [each.node for each in found.known] == ["node-b"]
    assert not found.settled
    assert not file_in(tmp_path).exists()


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "7",
        "{}",
        '{"node": 3}',
        json.dumps({**LINE, "code": True}),
        json.dumps({**LINE, "reason": "x" * 999}),
    ],
)
def test_what_is_torn_or_forged_is_passed_over(tmp_path: Path, line: str) -> None:
    add(tmp_path, FAILED)
    with file_in(tmp_path).open("a") as file:
        file.write(line)
    found = add(tmp_path, replace(FAILED, generation=2))
    assert [each.generation for each in found.known] == [1, 2]
    assert json.loads(file_in(tmp_path).read_text().splitlines()[-1])["generation"] == 2


def test_fields_that_later_launchers_add_are_passed_over(tmp_path: Path) -> None:
    add(tmp_path)
    file_in(tmp_path).write_text(json.dumps({**LINE, "card": 3}) + "\n")
    assert kept(tmp_path).known == (replace(FAILED, at=LINE["at"]),)


def test_a_file_that_grows_too_large_keeps_its_newer_half(tmp_path: Path) -> None:
    add(tmp_path)
    many = MOST_BYTES // len(json.dumps(LINE)) + 1
    file_in(tmp_path).write_text("".join(json.dumps({**LINE, "generation": n}) + "\n" for n in range(1, many + 1)))
    found = add(tmp_path, replace(FAILED, generation=many + 1))
    lines = file_in(tmp_path).read_text().splitlines()
    numbers = [json.loads(line)["generation"] for line in lines]
    assert numbers == list(range(many + 2 - len(lines), many + 2))
    assert MOST_BYTES // 2 - 1000 < file_in(tmp_path).stat().st_size <= MOST_BYTES // 2
    assert len(found.known) == NEWEST
    assert [path.name for path in file_in(tmp_path).parent.iterdir()] == [NODE_FAILURES]


@pytest.mark.parametrize("what", ["a link", "a directory", "too large"])
def test_what_no_launcher_wrote_is_left_as_it_is(tmp_path: Path, what: str) -> None:
    add(tmp_path)
    path = file_in(tmp_path)
    if what == "a link":
        path.symlink_to("/etc/hostname")
    elif what == "a directory":
        path.mkdir()
    else:
        path.write_bytes(b"x" * (2 * MOST_BYTES + 1))
    before = path.lstat()
    found = NodeFailures(clock=lambda: AT)
    found.wish(FAILED)
    with pytest.raises(RecordError):
        found.keep(output_in(tmp_path))
    assert (path.lstat().st_mode, path.lstat().st_size) == (before.st_mode, before.st_size)
    assert [each.node for each in found.known] == ["node-b"]


def test_a_leader_s_record_has_what_failed_in_earlier_runs_and_trouble_with_it_stops_nothing(tmp_path: Path) -> None:
    told = Told()
    record = record_in(tmp_path)
    runs = Runs(record=record, peer_timeout=15)
    with runs.home.opened(make=True):
        pass
    before = NodeFailures()
    before.wish(replace(FAILED, run="earlier"))
    before.keep(runs.home)
    records = Recorder(record, lambda: None, told, runs=runs)
    wait_until(lambda: records.facts.known)
    assert list(records.facts.failures) == []
    records.begin()
    wait_until(lambda: [each.run for each in records.facts.failures] == ["earlier"])
    records.wish_failure(FAILED)
    records.settle(1e9)
    lines = (tmp_path / JOB / "output/.launcher" / f"{JOB}.runs" / NODE_FAILURES).read_text().splitlines()
    assert [json.loads(line)["run"] for line in lines] == ["earlier", "key"]
    (tmp_path / JOB / "output/.launcher" / f"{JOB}.runs" / NODE_FAILURES).unlink()
    (tmp_path / JOB / "output/.launcher" / f"{JOB}.runs" / NODE_FAILURES).mkdir()
    records.wish_failure(replace(FAILED, generation=2))
    records.wish_generation(generation(1))
    wait_until(lambda: records.facts.made == 1)
    assert [each.generation for each in records.facts.failures] == [1, 1, 2]
    assert told == []


def test_without_a_record_only_the_run_s_own_failures_are_known() -> None:
    records = Recorder(None, lambda: None, Told())
    for number in (1, 2):
        records.wish_failure(replace(FAILED, generation=number))
    assert [each.generation for each in records.facts.failures] == [1, 2]
