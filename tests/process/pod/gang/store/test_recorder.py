"""The record behind its thread: the main thread wishes, reads facts, and never waits for the volume."""

from __future__ import annotations

import math
import os
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from launcher.pod.gang.protocol.state import Recorded
from launcher.pod.gang.store.recorder import Recorder
from launcher.pod.outcome import Outcome
from tests.support.hanging import hanging_volume
from tests.support.keeping import JOB, Told, generation, home_in, output_in, record_in
from tests.support.mounts import mounted
from tests.support.volume import lay_out
from tests.support.waiting import wait_until

SUCCESS, FAILURE = Outcome(code=0, reason="every trainer is done"), Outcome(code=7, reason="trainer 1 ended with 7")


class Nudges:
    """Counts them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


class Gate:
    """A hard link that is made once somebody opens the gate: the volume hangs until then."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.names: list[str] = []

    def __call__(self, new: str, name: str, **more: Any) -> None:  # noqa: ANN401  # as os.link takes them
        self.names.append(name)
        assert self.open.wait(20)
        os.link(new, name, **more)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def nudges() -> Nudges:
    return Nudges()


def until(check: Callable[[], object]) -> None:
    wait_until(lambda: bool(check()))


def is_idle(records: Recorder) -> bool:
    """Return whether nothing is under way or asked for; it holds this lock while it ends a round."""
    with records._changed:
        return records._since is None and not records._asked


def settled(records: Recorder, nudges: Nudges) -> None:
    """Wait until looks change nothing any more."""
    until(lambda: records.facts.known and is_idle(records))
    before = -1
    while before != nudges.count:
        before = nudges.count
        records.look()
        until(lambda: is_idle(records))


def test_without_a_record_wishes_come_true_at_once(told: Told, nudges: Nudges) -> None:
    records = Recorder(None, nudges, told)
    assert records.facts == Recorded(known=True)
    records.wish_generation(generation(4))
    assert records.facts == Recorded(known=True, highest=4, made=4, latest=generation(4))
    assert nudges.count == 1
    records.wish_generation(generation(4))
    records.look()
    assert nudges.count == 1
    records.wish_verdict(FAILURE)
    records.wish_verdict(SUCCESS)
    assert records.facts.sealed == FAILURE
    assert nudges.count == 2
    assert records.facts == Recorded(highest=4, made=4, latest=generation(4), sealed=FAILURE)


def test_what_stands_is_known_from_the_first_look_on(tmp_path: Path, told: Told, nudges: Nudges) -> None:
    record_in(tmp_path).make(generation(3, "other"))
    record_in(tmp_path).seal(FAILURE)
    records = Recorder(record_in(tmp_path), nudges, told)
    until(lambda: records.facts.known)
    known = replace(records.facts, looked=math.inf)
    assert known == Recorded(known=True, highest=3, latest=generation(3, "other"), sealed=FAILURE)
    assert told == []


def test_wishes_are_written_and_each_change_is_nudged_once(tmp_path: Path, told: Told, nudges: Nudges) -> None:
    records = Recorder(record_in(tmp_path), nudges, told)
    settled(records, nudges)
    assert nudges.count == 1
    records.wish_generation(generation(1))
    until(lambda: records.facts.made == 1)
    records.wish_generation(generation(2))
    until(lambda: records.facts.made == 2)
    records.wish_verdict(SUCCESS)
    until(lambda: records.facts.sealed == SUCCESS)
    settled(records, nudges)
    assert nudges.count == 4
    assert record_in(tmp_path).latest() == generation(2)
    assert record_in(tmp_path).verdict() == SUCCESS


def test_a_number_that_another_made_is_seen_as_taken(tmp_path: Path, told: Told, nudges: Nudges) -> None:
    records = Recorder(record_in(tmp_path), nudges, told)
    settled(records, nudges)
    record_in(tmp_path).make(generation(1, "other"))
    records.wish_generation(generation(1, "mine"))
    until(lambda: records.facts.latest == generation(1, "other"))
    assert records.facts.highest == 1
    assert records.facts.made == 0
    record_in(tmp_path).seal(FAILURE)
    records.wish_verdict(SUCCESS)
    until(lambda: records.facts.sealed == FAILURE)


def test_what_others_add_is_seen_at_a_look(tmp_path: Path, told: Told, nudges: Nudges) -> None:
    records = Recorder(record_in(tmp_path), nudges, told)
    records.wish_generation(generation(1))
    until(lambda: records.facts.made == 1)
    settled(records, nudges)
    record_in(tmp_path).make(generation(2, "other"))
    record_in(tmp_path).seal(FAILURE)
    assert records.facts.highest == 1
    records.look()
    until(lambda: records.facts.sealed == FAILURE)
    assert records.facts.highest == 2
    assert records.facts.made == 1


def test_a_number_beyond_counts_even_while_its_file_cannot_be_seen(
    tmp_path: Path, told: Told, nudges: Nudges
) -> None:
    records = Recorder(record_in(tmp_path), nudges, told)
    records.wish_generation(generation(1))
    until(lambda: records.facts.made == 1)
    settled(records, nudges)  # or else it may read what is half written
    (home_in(tmp_path) / "now").write_bytes(b"0000000002\n")
    records.look()
    until(lambda: records.facts.trouble)
    assert records.facts.highest == 2
    assert "gen-2.json is not there" in records.facts.trouble
    record_in(tmp_path).make(generation(2, "other"))
    records.look()
    until(lambda: records.facts.latest == generation(2, "other"))
    until(lambda: not records.facts.trouble)
    assert told.names() == ["record_trouble", "record_back"]


def test_a_wish_repeated_while_it_is_under_way_is_done_once(tmp_path: Path, told: Told, nudges: Nudges) -> None:
    gate = Gate()
    records = Recorder(record_in(tmp_path, link=gate), nudges, told)
    records.wish_generation(generation(1))
    until(lambda: gate.names)
    for _ in range(5):
        records.wish_generation(generation(1))
        records.look()
    gate.open.set()
    until(lambda: records.facts.made == 1)
    records.wish_generation(generation(1))
    settled(records, nudges)
    assert gate.names == ["gen-1.json"]


def test_of_the_wishes_for_generations_the_latest_counts(tmp_path: Path, told: Told, nudges: Nudges) -> None:
    gate = Gate()
    records = Recorder(record_in(tmp_path, link=gate), nudges, told)
    records.wish_generation(generation(1))
    until(lambda: gate.names)
    for number in (2, 3, 4):
        records.wish_generation(generation(number))
    gate.open.set()
    until(lambda: records.facts.made == 4)
    assert gate.names == ["gen-1.json", "gen-4.json"]


def test_a_volume_that_hangs_is_told_once_and_never_waited_for(tmp_path: Path, told: Told, nudges: Nudges) -> None:
    gate = Gate()
    records = Recorder(record_in(tmp_path, link=gate), nudges, told, patience=0.05)
    records.wish_generation(generation(1))
    until(lambda: gate.names)

    def told_of_it() -> bool:
        records.look()
        return bool(records.facts.trouble)

    until(told_of_it)
    told_of_it()
    assert records.facts.trouble == "the volume with the gang's record does not answer"
    assert told == [("record_trouble", {"error": records.facts.trouble})]
    gate.open.set()
    until(lambda: records.facts.made == 1 and not records.facts.trouble)
    assert told.names() == ["record_trouble", "record_back"]
    time.sleep(0.1)  # idle for longer than its patience is not hanging
    settled(records, nudges)
    assert told.names() == ["record_trouble", "record_back"]


@pytest.mark.timeout(60)
def test_no_call_waits_for_a_file_system_that_does_not_answer(tmp_path: Path, told: Told, nudges: Nudges) -> None:
    """It hangs for longer than all that is done here: a call that waited for it would never come back."""
    with hanging_volume(tmp_path) as volume, volume.hanging():
        records = Recorder(record_in(tmp_path), nudges, told, patience=0.05)
        records.wish_generation(generation(1))
        records.wish_verdict(FAILURE)
        for _ in range(50):
            records.look()
            _ = records.facts
        assert not records.facts.known

        def told_of_it() -> bool:
            records.look()
            return "does not answer" in records.facts.trouble

        until(told_of_it)  # once its patience is over
        assert records.facts.made == 0
        assert records.facts.sealed is None


@pytest.mark.parametrize("what", ["generation", "verdict"])
def test_a_wish_that_failed_is_tried_again_at_a_look_and_not_before(
    tmp_path: Path, told: Told, nudges: Nudges, what: str
) -> None:
    def wish() -> None:
        if what == "generation":
            records.wish_generation(generation(1))
        else:
            records.wish_verdict(FAILURE)

    def fulfilled() -> bool:
        return bool(records.facts.made or records.facts.sealed)

    with mounted("tmpfs", "none", tmp_path, "ro"):
        records = Recorder(record_in(tmp_path), nudges, told)
        settled(records, nudges)
        wish()
        until(lambda: "Read-only file system" in records.facts.trouble)
        settled(records, nudges)  # the same trouble again and again nudges nobody: no loop
        assert told.names() == ["record_trouble"]
        assert not fulfilled()
        subprocess.run(["mount", "-o", "remount,rw", str(tmp_path)], check=True)
        wish()
        time.sleep(0.05)
        assert not fulfilled()
        records.look()
        until(lambda: fulfilled() and not records.facts.trouble)
    assert told.names() == ["record_trouble", "record_back"]


def test_a_generation_that_stands_though_now_could_not_be_written_counts_as_made(
    tmp_path: Path, told: Told, nudges: Nudges
) -> None:
    def last_words(new: str, name: str, **more: Any) -> None:  # noqa: ANN401  # as os.link takes them
        os.link(new, name, **more)
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)

    with mounted("tmpfs", "none", tmp_path, "size=64k"):
        records = Recorder(record_in(tmp_path, link=last_words), nudges, told)
        records.wish_generation(generation(1))
        until(lambda: "Read-only file system" in records.facts.trouble)
        assert records.facts.made == 1
        assert records.facts.highest == 1


def test_a_torn_record_is_told_and_the_thread_goes_on(tmp_path: Path, told: Told, nudges: Nudges) -> None:
    record_in(tmp_path).make(generation(1, "other"))
    file = home_in(tmp_path) / "gen-1.json"
    whole = file.read_bytes()
    file.write_bytes(whole[:50])
    records = Recorder(record_in(tmp_path), nudges, told)
    until(lambda: f"{file} is torn" in records.facts.trouble)
    assert not records.facts.known
    records.wish_generation(generation(2))
    time.sleep(0.1)  # nothing shows that it was tried in vain
    file.write_bytes(whole)
    records.look()  # one is enough: it reads, makes, and reads again
    until(lambda: records.facts.made == 2 and not records.facts.trouble)
    assert record_in(tmp_path).latest() == generation(2)


def test_a_bug_does_not_end_the_thread(tmp_path: Path, told: Told, nudges: Nudges) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("so broken")

    records = Recorder(record_in(tmp_path, link=broken), nudges, told)
    records.wish_generation(generation(1))
    until(lambda: records.facts.trouble == "a bug in the launcher: ZeroDivisionError: so broken")
    record_in(tmp_path).make(generation(1, "other"))
    records.look()
    until(lambda: records.facts.highest == 1)


def test_after_a_verdict_no_generation_is_made(tmp_path: Path, told: Told, nudges: Nudges) -> None:
    record_in(tmp_path).seal(FAILURE)
    records = Recorder(record_in(tmp_path), nudges, told)
    records.wish_generation(generation(1))
    until(lambda: records.facts.sealed == FAILURE)
    settled(records, nudges)
    assert record_in(tmp_path).latest() is None
    assert records.facts.made == 0


def test_before_the_record_was_read_no_generation_is_made(tmp_path: Path, told: Told, nudges: Nudges) -> None:
    record_in(tmp_path).seal(FAILURE)
    file = home_in(tmp_path) / "verdict.json"
    whole = file.read_bytes()
    file.write_bytes(b"")
    records = Recorder(record_in(tmp_path), nudges, told)
    records.wish_generation(generation(1))
    until(lambda: f"{file} is torn" in records.facts.trouble)
    for _ in range(5):
        records.look()
        time.sleep(0.01)
    file.write_bytes(whole)
    records.look()
    until(lambda: records.facts.sealed == FAILURE)
    assert record_in(tmp_path).latest() is None


@pytest.mark.parametrize(("passes", "after"), [((0, 1, 2), "pass 2"), ((), "")])
def test_a_verdict_that_is_not_taken_is_told_with_what_follows(
    tmp_path: Path, told: Told, nudges: Nudges, passes: tuple[int, ...], after: str
) -> None:
    with mounted("tmpfs", "none", tmp_path, "size=1m"):
        record = record_in(tmp_path)
        record.make(generation(1))
        for number in passes:
            at = tmp_path / f"job/output/pass-{number:05}"
            at.mkdir(parents=True)
            (at / "model").write_text("x")
            (at / "done").touch()
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)
        records = Recorder(record, nudges, told, output=output_in(tmp_path))
        settled(records, nudges)
        assert records.facts.unsealed == ""
        records.wish_verdict(SUCCESS)
        until(lambda: "Read-only" in records.facts.trouble and "the last complete" not in records.facts.unsealed)
        expected = (
            f"the volume has not taken this verdict: the next run of this name goes on after {after}; "
            f"move {tmp_path}/job/output/pass-* away to prevent it"
        )
        assert records.facts.unsealed == (expected if after else "")


def test_of_a_volume_that_does_not_answer_no_pass_is_known(tmp_path: Path, told: Told, nudges: Nudges) -> None:
    gate = Gate()
    records = Recorder(record_in(tmp_path, link=gate), nudges, told, output=output_in(tmp_path))
    settled(records, nudges)
    records.wish_verdict(SUCCESS)
    until(lambda: gate.names)
    assert "goes on after the last complete pass; move " in records.facts.unsealed
    gate.open.set()
    until(lambda: records.facts.sealed == SUCCESS)


def save(top: Path, number: int) -> None:
    lay_out(top / JOB / "output" / f"pass-{number:05}", {"model": "x", "done": ""})


def test_the_newest_pass_is_looked_for_once_a_leader_is_in_doubt_and_by_a_look_that_begins_then(
    tmp_path: Path, told: Told, nudges: Nudges
) -> None:
    now = iter(range(1, 1000))
    records = Recorder(
        record_in(tmp_path), nudges, told, output=output_in(tmp_path), resumes=True, clock=lambda: next(now)
    )
    save(tmp_path, 3)
    settled(records, nudges)
    assert (records.facts.newest, records.facts.read) == (None, 0.0)
    records.look_at_passes(doubt := float(next(now)))
    until(lambda: records.facts.read >= doubt)
    assert records.facts.newest == 3
    seen = records.facts.read
    save(tmp_path, 4)
    records.look_at_passes(doubt)
    settled(records, nudges)
    assert (records.facts.newest, records.facts.read) == (3, seen)  # that doubt is over
    records.look_at_passes(doubt := float(next(now)))
    until(lambda: records.facts.read >= doubt)
    assert records.facts.newest == 4


def test_passes_that_the_last_generation_knew_of_are_not_looked_into(
    tmp_path: Path, told: Told, nudges: Nudges
) -> None:
    record_in(tmp_path).make(generation(1, reached=5))
    records = Recorder(record_in(tmp_path), nudges, told, output=output_in(tmp_path), resumes=True)
    save(tmp_path, 4)
    settled(records, nudges)
    records.look_at_passes(doubt := time.monotonic())
    until(lambda: records.facts.read >= doubt)
    assert records.facts.newest is None


@pytest.mark.parametrize("resumes", [False, True])
def test_no_doubt_is_left_where_no_start_goes_on_from_a_pass(
    tmp_path: Path, told: Told, nudges: Nudges, resumes: bool
) -> None:
    record = None if resumes else record_in(tmp_path)
    assert Recorder(record, nudges, told, output=output_in(tmp_path), resumes=resumes).facts.read == math.inf


def test_passes_that_cannot_be_looked_at_are_a_trouble_that_may_pass(
    tmp_path: Path, told: Told, nudges: Nudges
) -> None:
    (tmp_path / JOB / "output").mkdir(parents=True)
    records = Recorder(
        record_in(tmp_path / "elsewhere"), nudges, told, output=output_in(tmp_path / "gone"), resumes=True
    )
    records.look_at_passes(doubt := time.monotonic())
    until(lambda: f"{tmp_path}/gone" in records.facts.trouble)
    assert records.facts.read < doubt
    (tmp_path / "gone").mkdir()
    (tmp_path / "elsewhere").mkdir()
    records.look()
    until(lambda: records.facts.read >= doubt)
