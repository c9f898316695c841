"""Whole runs of a gang: where each goes on, roles apart, without a record, and with strangers at the door."""

from __future__ import annotations

import random
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.gangs import Fault, gang
from tests.support.launchers import STATUS_PORT
from tests.support.outcomes import is_done, restarts
from tests.support.pods import JOB, UID, pod

pytestmark = pytest.mark.timeout(60)

HELD = Fault("pass 1", "wait", generation=1, times=0)
FAILS = Fault("pass 2", "exit 7", rank=1)
NEXT = "7a2f0c3e-0000-4000-8000-000000000002"


def test_after_a_finished_run_a_new_job_of_the_name_starts_afresh(tmp_path: Path) -> None:
    with gang(3, tmp_path) as g:
        is_done(g)
    with gang(3, tmp_path, passes=2, key=NEXT) as g:
        is_done(g, passes=2)
        assert [start["first"] for start in g.trace("start", role="trainer")] == [0, 0, 0]
        (aside,) = g.output.glob("run-*")
        assert {"pass-00002", "node_0", "events.jsonl"} <= {path.name for path in aside.iterdir()}
        assert not (g.output / "pass-00002").exists()


def test_after_an_unfinished_run_a_new_job_of_the_name_goes_on(tmp_path: Path) -> None:
    failing = Fault("pass 2", "exit 7", rank=1, times=0)
    with gang(3, tmp_path, faults=[failing], env={"LAUNCHER_MAX_RESTARTS": "0"}) as g:
        assert g.verdict()[0] == 7
    with gang(3, tmp_path, key=NEXT) as g:
        is_done(g)
        assert [start["first"] for start in g.trace("start", role="trainer")] == [2, 2, 2]
        assert not list(g.output.glob("run-*"))


def test_a_launcher_that_comes_after_the_verdict_ends_with_it_at_once(tmp_path: Path) -> None:
    with gang(3, tmp_path) as g:
        is_done(g)
        late = g.again(1)
        is_done(g)
        assert not late.begun()
        assert late.reason().startswith(f"every trainer is done, by the record of {UID}; a new run needs a LAUNCHER_")


def test_a_second_run_with_the_key_of_the_first_says_why_nothing_was_started(tmp_path: Path) -> None:
    """A constant LAUNCHER_JOB_UID on compose."""
    for _ in range(2):
        with gang(2, tmp_path) as g:
            assert g.verdict()[0] == 0
            told = {each.reason() for each in g.places}
    why = f"by the record of {UID}; a new run needs a LAUNCHER_JOB_UID of its own"
    assert told == {f"every trainer is done, {why}"}


@pytest.mark.parametrize("without", ["key", "record"])
def test_without_a_record_all_start_again_as_well(tmp_path: Path, without: str) -> None:
    env = {"LAUNCHER_RECORD": "none"} if without == "record" else {}
    with gang(3, tmp_path, key="" if without == "key" else NEXT, faults=[FAILS], env=env) as g:
        restarts(g, f"a trainer fails, without a {without}", first=2)
        assert not (g.output / ".launcher").exists()


def test_where_nothing_is_to_be_resumed_all_start_again_from_the_beginning(tmp_path: Path) -> None:
    with gang(3, tmp_path, faults=[FAILS], env={"LAUNCHER_RESUME": "never"}) as g:
        restarts(g, "a trainer fails, with LAUNCHER_RESUME=never", first=0)


def test_ranks_that_see_different_newest_passes_take_the_newest_that_all_see(tmp_path: Path) -> None:
    """A client of a network volume may be behind: here one pod has a volume of its own, without the newest pass."""
    behind = tmp_path / "behind"
    for number in range(2):
        (behind / JOB / "output" / f"pass-{number:05}").mkdir(parents=True)
    with gang(
        3,
        tmp_path,
        passes=4,
        env_of={2: {"JOB_PATH": str(behind)}},
        faults=[Fault("pass 3", "wait", rank=1), Fault("pass 3", "exit 7", rank=1)],
    ) as g:
        g.await_trace("fault", do="wait")
        for path in g.output.glob("pass-0000[01]/*"):
            (behind / JOB / "output" / path.parent.name / path.name).write_bytes(path.read_bytes())
        at = g.go()
        restarts(g, "ranks see different newest passes", at, first=2, passes=4)


@pytest.mark.parametrize("api", [False, True], ids=["list", "api"])
def test_with_roles_apart_pservers_end_with_0_when_the_trainers_are_done(tmp_path: Path, api: bool) -> None:
    with gang(4, tmp_path, pservers=2, api=api) as g:
        is_done(g)
        assert {start["address"] for start in g.trace("start", role="pserver")} == {g.address(0), g.address(1)}


@pytest.mark.parametrize("place", [0, 1], ids=["leader", "member"])
def test_with_roles_apart_a_pserver_pod_is_lost_and_replaced(tmp_path: Path, place: int) -> None:
    with gang(4, tmp_path, pservers=2, api=True, process_one=True, faults=[HELD]) as g:
        g.await_trace("fault", 2)
        at = g.launcher(place).kill()
        g.replace(place)
        restarts(g, f"roles apart, {('the leading', 'another')[place]} pserver pod is lost and replaced", at, first=1)


def test_pods_that_are_listed_but_over_do_not_count(tmp_path: Path) -> None:
    with gang(3, tmp_path, api=True, start=False) as g:
        assert g.api
        g.api.put(pod("old-0", g.address(7), "Succeeded", owner="the-earlier-job"))
        g.api.put(pod("gone", g.address(8), leaving=True))
        g.start()
        is_done(g)


def test_strangers_at_the_status_port_disturb_nothing(tmp_path: Path) -> None:
    with gang(3, tmp_path, passes=4, faults=[Fault("pass 2", "wait", times=0)]) as g:
        g.await_trace("fault", 3)
        chance = random.Random(7)  # noqa: S311  # no secret
        for _ in range(60):
            address = g.address(chance.randrange(3))
            with suppress(OSError), socket.create_connection((address, STATUS_PORT), timeout=2) as wire:
                kind = chance.choice([b"", b"POST /status HTTP/1.1\r\n\r\n", b"GET /" + b"x" * 9000])
                wire.sendall(kind + chance.randbytes(chance.randrange(2000)))
        assert all(each.phase == "training" for each in g.places)
        g.go()
        is_done(g, passes=4)
        assert len(g.events("generation_made")) == 1
