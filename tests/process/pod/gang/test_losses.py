"""A launcher is lost, with its pod or without: its place is taken, and all start again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.grounds.api.scripted import Status
from tests.support.gangs import Fault, gang
from tests.support.outcomes import is_done, note, restarts
from tests.support.pods import JOB
from tests.support.volume import lay_out

pytestmark = pytest.mark.timeout(60)

WHO = pytest.mark.parametrize("rank", [0, 1], ids=["leader", "member"])
NAMES = ("the leader's", "a member's")
HELD = Fault("pass 1", "wait", generation=1, times=0)  # every trainer stands still there until it is over
QUICK = {"LAUNCHER_PEER_TIMEOUT": "3"}


@WHO
def test_a_launcher_killed_as_process_1_and_started_again(tmp_path: Path, rank: int) -> None:
    """Its children are dead with it, so that nobody waits for a lease."""
    with gang(3, tmp_path, process_one=True, faults=[HELD]) as g:
        g.await_trace("fault", 3)
        at = g.launcher(rank).kill()
        g.again(rank)
        restarts(g, f"{NAMES[rank]} launcher is killed as process 1", at, first=1)
        assert g.events("lost") or rank == 0


@WHO
def test_a_launcher_killed_but_not_as_process_1_and_started_again(tmp_path: Path, rank: int) -> None:
    """Nobody can know that its children died, so that their lease is waited for."""
    with gang(3, tmp_path, faults=[HELD], env=QUICK) as g:
        g.await_trace("fault", 3)
        at = g.launcher(rank).kill()
        g.again(rank)
        restarts(g, f"{NAMES[rank]} launcher is killed, not process 1 (lease 2 s)", at, first=1)


@WHO
def test_a_pod_that_is_lost_and_replaced(tmp_path: Path, rank: int) -> None:
    """With another name, uid and address, so that ranks are dealt anew."""
    with gang(3, tmp_path, api=True, process_one=True, faults=[HELD]) as g:
        g.await_trace("fault", 3)
        at = g.launcher(rank).kill()
        g.replace(rank)
        restarts(g, f"{NAMES[rank]} pod is lost and replaced", at, first=1)
        assert [start["rank"] for start in g.trace("start", role="trainer", address=g.launcher(rank).address)] == [2]


def test_of_five_pods_two_are_lost_at_once_and_replaced(tmp_path: Path) -> None:
    with gang(5, tmp_path, api=True, process_one=True, faults=[HELD]) as g:
        g.await_trace("fault", 5)
        at = min(g.launcher(rank).kill() for rank in (0, 3))
        for rank in (0, 3):
            g.replace(rank)
        restarts(g, "of five, the leader's pod and another are lost", at, first=1)


def test_a_pod_that_the_api_still_lists_is_lost_to_the_gang_at_once(tmp_path: Path) -> None:
    """Its status is what counts, not its phase; until the API tells of another pod, all wait."""
    with gang(3, tmp_path, api=True, process_one=True, faults=[HELD]) as g:
        g.await_trace("fault", 3)
        at = g.launcher(2).kill()
        g.wait(lambda: g.launcher(0).events("generation_ended"))
        note("a dead pod that the API still lists", "all trainers are ended", g.now() - at)
        assert "node 2" in g.launcher(0).events("generation_ended")[0]["reason"]
        g.replace(2)
        is_done(g)


def test_a_launcher_killed_while_it_stages_is_waited_for(tmp_path: Path) -> None:
    with gang(3, tmp_path, start=False, process_one=True) as g:
        lay_out(
            g.volume / JOB, {f"{rank}/data/{n}": "x" for rank in range(3) for n in range(500 if rank == 2 else 1)}
        )
        g.start()
        g.wait(lambda: g.launcher(2).phase == "staging")
        at = g.launcher(2).kill()
        assert not any(each.begun() for each in g.places)
        g.again(2)
        starts = g.await_training(1)
        note("a launcher is killed while staging", "all wait, and start", max(each["at"] for each in starts) - at)
        is_done(g)
        assert {each["generation"] for each in starts} == {1}


def test_a_launcher_killed_while_all_end_their_children_is_waited_for(tmp_path: Path) -> None:
    """A deaf trainer holds the restart open for as long as its grace."""
    slow = [Fault("pass 1", "deaf", rank=1, generation=1), Fault("pass 1", "hang", rank=1, generation=1)]
    first = [Fault("pass 1", "wait", rank=0, generation=1), Fault("pass 1", "exit 7", rank=0)]
    with gang(3, tmp_path, process_one=True, faults=[*slow, *first]) as g:
        g.await_trace("fault", do="hang")
        g.go()
        g.wait(lambda: g.launcher(2).events("generation_ended"))
        at = g.launcher(2).kill()
        assert g.launcher(1).child().status() != "zombie"
        g.again(2)
        restarts(g, "a launcher is killed during a restart", at, first=1)


def test_without_the_api_a_gang_trains_and_starts_again(tmp_path: Path) -> None:
    with gang(3, tmp_path, api=True, faults=[HELD]) as g:
        g.await_trace("fault", 3)
        assert g.api
        away = Status(code=503, message="away")
        g.api.always.update({"list": away, "watch": away, "get": away})
        g.api.close()
        g.launcher(1).child().send_signal(signal.SIGKILL)
        at = g.now()
        restarts(g, "the API is away, and a trainer is killed", at, first=1)
