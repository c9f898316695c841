"""The gang's story on a volume that is well, full, read-only, hostile or hanging: nobody ever waits for it."""

from __future__ import annotations

import errno
import json
import math
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.pod.gang.protocol.messages import Phase
from launcher.pod.gang.store.event_file import LONGEST_EVENT, EventFile, event_line
from tests.support.hanging import hanging_volume
from tests.support.keeping import JOB, Told, output_in
from tests.support.mounts import mounted
from tests.support.waiting import wait_until
from tests.support.whole_lines import whole_lines

NOON = datetime(2026, 11, 18, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def told() -> Told:
    return Told()


def file_in(top: Path) -> Path:
    return top / JOB / "output/events.jsonl"


def begin(top: Path, told: Told, **effects: Any) -> EventFile:  # noqa: ANN401  # as EventFile takes them
    return EventFile(output_in(top), told, clock=lambda: NOON, **effects)


def end(events: EventFile, seconds: float = 10) -> bool:
    return events.close(time.monotonic() + seconds)


def numbers(top: Path) -> Iterator[int]:
    for line in whole_lines(file_in(top)):
        yield json.loads(line)["number"]


def written(top: Path, count: int) -> None:
    wait_until(lambda: file_in(top).exists() and len(list(numbers(top))) == count)


def test_an_event_is_one_line_with_its_time_first(tmp_path: Path, told: Told) -> None:
    events = begin(tmp_path, told)
    events.put("run_started", key="k", job="j\n", resume=None, moved_to=tmp_path)
    events.put("phase", generation=1, phase=Phase.TRAINING, rank=0)
    assert end(events)
    assert file_in(tmp_path).read_text().splitlines() == [
        f'{{"at": "2026-11-18T12:00:00.123Z", "event": "run_started", "key": "k", "job": "j\\n", "resume": null, '
        f'"moved_to": "{tmp_path}"}}',
        '{"at": "2026-11-18T12:00:00.123Z", "event": "phase", "generation": 1, "phase": "training", "rank": 0}',
    ]
    assert told == []


def test_a_story_goes_on_where_another_launcher_left_it_even_in_the_middle_of_a_line(
    tmp_path: Path, told: Told
) -> None:
    for number in range(2):
        events = begin(tmp_path, told)
        events.put("e", number=number)
        assert end(events)
    with file_in(tmp_path).open("a") as file:
        file.write('{"at": "2026-')
    events = begin(tmp_path, told)
    events.put("e", number=2)
    assert end(events)
    lines = file_in(tmp_path).read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines if line != '{"at": "2026-'] == [0, 1, 2]


def test_a_story_that_was_moved_aside_is_begun_anew(tmp_path: Path, told: Told) -> None:
    events = begin(tmp_path, told)
    events.put("e", number=0)
    written(tmp_path, 1)
    file_in(tmp_path).rename(tmp_path / "aside")
    events.put("e", number=1)
    assert end(events)
    assert list(numbers(tmp_path)) == [1]


def test_every_line_goes_out_in_one_write(tmp_path: Path, told: Told) -> None:
    writes: list[bytes] = []

    def write(fd: int, block: bytes) -> int:
        writes.append(block)
        return os.write(fd, block)

    events = begin(tmp_path, told, write=write)
    for number in range(20):
        events.put("e", number=number, text="x" * 10_000)
    assert end(events)
    assert writes == file_in(tmp_path).read_bytes().splitlines(keepends=True)
    assert len(writes) == 20


def test_on_a_full_volume_the_story_waits_and_comes_whole(tmp_path: Path, told: Told) -> None:
    with mounted("tmpfs", "none", tmp_path, "size=64k"):
        events = begin(tmp_path, told)
        filler = tmp_path / "filler"
        filler.write_bytes(b"f" * 40_000)
        for number in range(40):
            events.put("e", number=number, text="x" * 1000)
        wait_until(lambda: told.names() == ["events_file_trouble"])
        events.put("e", number=40)
        assert "expected room for all of it: free some" in told[0][1]["error"]
        assert told[0][1]["path"] == str(file_in(tmp_path))
        filler.unlink()
        events.put("e", number=41)
        assert end(events)
        whole = []
        for line in file_in(tmp_path).read_bytes().splitlines():
            try:
                whole.append(json.loads(line)["number"])
            except ValueError:  # what fitted of a line while the volume was full
                continue
    assert whole == list(range(42))
    assert told.names() == ["events_file_trouble", "events_file_back"]
    assert told[1][1]["events_lost"] == 0


def test_trouble_is_told_once_however_often_it_is_met(tmp_path: Path, told: Told) -> None:
    tried = []

    def write(_fd: int, block: bytes) -> int:
        tried.append(block)
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    events = begin(tmp_path, told, write=write)
    for number in range(3):
        events.put("e", number=number)
        wait_until(lambda count=number + 1: len(tried) == count)  # type: ignore[misc]
    assert not end(events)
    assert told.names() == ["events_file_trouble", "events_file_incomplete"]
    assert "Disk quota exceeded; expected room for all of it: free some" in told[0][1]["error"]


def test_a_read_only_volume_is_told_once_and_what_does_not_fit_is_counted(tmp_path: Path, told: Told) -> None:
    with mounted("tmpfs", "none", tmp_path, "ro"):
        events = begin(tmp_path, told, limit=10)
        for number in range(15):
            events.put("e", number=number)
        assert not end(events)
    assert told.names() == ["events_file_trouble", "events_file_incomplete"]
    assert "Read-only file system" in told[0][1]["error"]
    assert told[1][1] == {"path": str(file_in(tmp_path)), "events_lost": 15}


def test_a_volume_that_comes_back_has_all_that_was_kept(tmp_path: Path, told: Told) -> None:
    with mounted("tmpfs", "none", tmp_path, "ro"):
        events = begin(tmp_path, told, limit=10)
        for number in range(15):
            events.put("e", number=number)
        wait_until(lambda: told.names() == ["events_file_trouble"])
        subprocess.run(["mount", "-o", "remount,rw", str(tmp_path)], check=True)
        events.put("e", number=15)  # lost too, and yet the reason to try again
        wait_until(lambda: told.names() == ["events_file_trouble", "events_file_back"])
        events.put("e", number=16)
        assert not end(events)
        assert list(numbers(tmp_path)) == [*range(10), 16]
    assert told[-1] == ("events_file_incomplete", {"path": str(file_in(tmp_path)), "events_lost": 6})


@pytest.mark.timeout(60)
def test_a_volume_that_hangs_stops_neither_the_events_nor_the_end(tmp_path: Path, told: Told) -> None:
    """It hangs for longer than all that is done here: a call that waited for it would never come back."""
    with hanging_volume(tmp_path) as volume, volume.hanging():
        events = begin(tmp_path, told, limit=100)
        for number in range(1000):
            events.put("e", number=number)
        assert not end(events, 0.05)
    assert ("events_file_incomplete", {"path": str(file_in(tmp_path)), "events_lost": 1000}) in told


def test_events_that_come_while_a_line_is_written_are_written_after_it(tmp_path: Path, told: Told) -> None:
    goes, came = threading.Event(), threading.Event()

    def write(fd: int, block: bytes) -> int:
        came.set()
        assert goes.wait(10)
        return os.write(fd, block)

    events = begin(tmp_path, told, write=write)
    events.put("e", number=0)
    assert came.wait(10)
    for number in range(1, 5):
        events.put("e", number=number)
    assert not end(events, 0.01)
    goes.set()
    written(tmp_path, 5)
    assert list(numbers(tmp_path)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_what_is_planted_in_its_place_is_refused_and_left_alone(tmp_path: Path, told: Told, kind: str) -> None:
    treasure = tmp_path / "treasure"
    treasure.write_text("mine")
    file_in(tmp_path).parent.mkdir(parents=True)
    if kind == "link":
        file_in(tmp_path).symlink_to(treasure)
    elif kind == "fifo":
        os.mkfifo(file_in(tmp_path))
    else:
        file_in(tmp_path).mkdir()
    events = begin(tmp_path, told)
    events.put("e")
    assert not end(events)
    assert told.names() == ["events_file_trouble", "events_file_incomplete"]
    assert told[0][1]["path"] == str(file_in(tmp_path))
    assert (kind == "fifo") == ("is a FIFO: expected a regular file; move it away" in told[0][1]["error"])
    assert treasure.read_text() == "mine"


def test_a_link_on_the_way_to_it_is_not_followed(tmp_path: Path, told: Told) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / JOB).mkdir()
    (tmp_path / JOB / "output").symlink_to(tmp_path / "elsewhere")
    events = begin(tmp_path, told)
    events.put("e")
    assert not end(events)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_an_event_without_end_is_dropped_and_counted(tmp_path: Path, told: Told) -> None:
    events = begin(tmp_path, told)
    events.put("e", number=0, text="x" * LONGEST_EVENT)
    events.put("e", number=1)
    assert not end(events)
    assert list(numbers(tmp_path)) == [1]
    assert told == [("events_file_incomplete", {"path": str(file_in(tmp_path)), "events_lost": 1})]


def test_without_an_output_nothing_is_kept_and_nothing_told(told: Told) -> None:
    events = EventFile(None, told)
    for _ in range(5000):
        events.put("e")
    events.put("e", text="x" * LONGEST_EVENT)
    assert end(events, 0)
    assert told == []


def test_its_thread_ends_with_it(tmp_path: Path, told: Told) -> None:
    before = set(threading.enumerate())
    events = begin(tmp_path, told)
    (thread,) = set(threading.enumerate()) - before
    events.put("e", number=0)
    assert end(events)
    thread.join(10)
    assert not thread.is_alive()
    events.put("e", number=1)
    assert not end(events)
    assert list(numbers(tmp_path)) == [0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def refuse(constant: str) -> None:
    raise AssertionError(constant)


@given(st.dictionaries(st.sampled_from(["rank", "metrics", "text"]), JSON))
def test_any_facts_make_one_line_of_strict_json(facts: dict[str, object]) -> None:
    line = event_line(NOON, "progress", facts)
    assert line.count(b"\n") == 1
    found = json.loads(line, parse_constant=refuse)
    assert set(found) == {"at", "event", *facts}


def test_numbers_that_json_does_not_know_keep_their_names() -> None:
    facts: dict[str, object] = {"loss": math.nan, "best": -math.inf, "said": "NaN", "odd": {1, 2} & {2}}
    found = json.loads(event_line(NOON, "progress", facts))
    assert found["loss"] == "NaN"
    assert found["best"] == "-Infinity"
    assert found["said"] == "NaN"
    assert found["odd"] == "{2}"


def test_the_time_is_told_in_utc() -> None:
    there = NOON.astimezone(timezone(timedelta(hours=9)))
    assert json.loads(event_line(there, "e", {}))["at"] == "2026-11-18T12:00:00.123Z"


FIRST_LINES = [
    (b"", 0.0),
    (b'{"at": "2026-11-18T11:00:00.123Z", "event": "run_started"}\n', 3600.0),
    (b'{"at": "2026-11-18T11:00:00.123", "event": "run_started"}\n', 3600.0),
    (b'{"at": "2026-11-18T13:00:00.123Z", "event": "run_started"}\n', 0.0),  # a leader's clock that was ahead
    (b'{"at": "2026-99-18T11:00:00.123Z", "event": "run_started"}\n', 0.0),
    (b'{"at": "2026-', 0.0),
    (b"\xff\x00 nothing of ours\n", 0.0),
    (b'{"at": 7}\n', 0.0),
]


@pytest.mark.parametrize(("before", "age"), FIRST_LINES)
def test_a_file_is_as_old_as_its_first_line_says_also_for_a_new_leader(
    tmp_path: Path, told: Told, before: bytes, age: float
) -> None:
    file_in(tmp_path).parent.mkdir(parents=True)
    file_in(tmp_path).write_bytes(before)
    events = begin(tmp_path, told)
    assert events.age == 0.0
    events.put("e", number=1)
    assert end(events)
    assert events.age == pytest.approx(age, abs=0.001)


def test_a_file_grows_older_by_the_clock_and_no_younger_where_that_goes_back(tmp_path: Path, told: Told) -> None:
    now = [NOON]
    events = EventFile(output_in(tmp_path), told, clock=lambda: now[0])
    events.put("e", number=1)
    written(tmp_path, 1)
    now[0] += timedelta(hours=2)
    wait_until(lambda: events.age == 7200.0)
    now[0] = NOON - timedelta(hours=1)
    assert events.age == 0.0
    assert end(events)
