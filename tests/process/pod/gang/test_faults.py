"""A program of a gang fails: all start again from the last complete pass, or all end with one verdict."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest

from tests.support.gangs import FIRST_PORT, Fault, gang
from tests.support.outcomes import ends, restarts

pytestmark = pytest.mark.timeout(60)

WHO = pytest.mark.parametrize("rank", [0, 1], ids=["leader", "member"])
NAMES = ("the leader's", "a member's")


@WHO
def test_a_trainer_that_exits_with_7_starts_all_again(tmp_path: Path, rank: int) -> None:
    with gang(3, tmp_path, faults=[Fault("pass 2", "exit 7", rank=rank)]) as g:
        restarts(g, f"{NAMES[rank]} trainer exits 7", first=2)
        causes = [event["cause"] for event in g.events("generation_made")]
        assert causes[0] == ""
        assert f"trainer {rank} exited with 7" in causes[1]


@WHO
def test_a_trainer_that_is_killed_starts_all_again(tmp_path: Path, rank: int) -> None:
    with gang(3, tmp_path, faults=[Fault("pass 1", "kill", rank=rank)]) as g:
        restarts(g, f"{NAMES[rank]} trainer is killed", first=1)


@WHO
def test_a_pserver_that_is_killed_starts_all_again(tmp_path: Path, rank: int) -> None:
    """Paddle's trainers would ask for ever: so do these."""
    with gang(3, tmp_path, faults=[Fault("pass 1", "kill", rank=rank, role="pserver")]) as g:
        restarts(g, f"{NAMES[rank]} pserver is killed", first=1)


def test_in_a_gang_of_five_a_pserver_that_is_killed_starts_all_again(tmp_path: Path) -> None:
    with gang(5, tmp_path, faults=[Fault("pass 1", "kill", rank=3, role="pserver")]) as g:
        restarts(g, "of five, a pserver is killed", first=1)


@WHO
def test_a_pserver_that_exits_with_0_before_it_serves_is_a_failure(tmp_path: Path, rank: int) -> None:
    """As Paddle's does that cannot bind its port."""
    with gang(3, tmp_path, faults=[Fault("start", "exit 0", rank=rank, role="pserver")]) as g:
        restarts(g, f"{NAMES[rank]} pserver exits 0 while serving begins", first=0)


def test_a_pserver_that_exits_with_0_while_trainers_train_is_a_failure_after_its_farewell(tmp_path: Path) -> None:
    """It may be told to stop by a trainer that is about to end, so there are 5 s before it counts."""
    with gang(3, tmp_path, faults=[Fault("pass 1", "exit 0", rank=0, role="pserver")]) as g:
        restarts(g, "a pserver exits 0 while training (5 s farewell)", first=1)


@WHO
def test_a_taken_port_of_a_pserver_ends_all_and_names_it(tmp_path: Path, rank: int) -> None:
    with gang(3, tmp_path, start=False) as g, socket.create_server((g.address(rank), FIRST_PORT)):
        at = g.now()
        g.start()
        what = f"{NAMES[rank]} pserver's port is taken (since the start)"
        message = ends(g, what, at, code=71, text=f"port {FIRST_PORT} at {g.address(rank)}")
        assert f"node {rank}" in message


def test_two_failures_at_once_are_one_restart(tmp_path: Path) -> None:
    faults = [Fault("pass 1", "wait", times=0, generation=1)]
    both = [Fault("pass 1", f"exit {6 + rank}", rank=rank, generation=1) for rank in (1, 2)]
    with gang(3, tmp_path, faults=faults + both) as g:
        g.await_trace("fault", 3, do="wait")
        restarts(g, "two trainers fail at once", g.go(), first=1)
        assert len(g.events("generation_made")) == 2


def test_a_trainer_killed_while_it_waits_at_a_barrier_starts_all_again(tmp_path: Path) -> None:
    with gang(3, tmp_path, faults=[Fault("pass 1", "wait", rank=0, generation=1)]) as g:
        g.wait(lambda: all(g.launcher(rank).waits_at("pass-1") for rank in (1, 2)))
        at = g.now()
        g.launcher(1).child().send_signal(signal.SIGKILL)
        restarts(g, "a trainer is killed at a barrier", at, first=1)


def test_a_pserver_that_fails_in_the_restart_makes_another_one(tmp_path: Path) -> None:
    faults = [Fault("pass 1", "exit 7", rank=1), Fault("start", "kill", rank=2, role="pserver", generation=2)]
    with gang(3, tmp_path, faults=faults) as g:
        restarts(g, "a pserver is killed in a restart", first=1, generation=3)


def test_a_helper_that_outlives_its_parent_is_gone_before_the_next_start(tmp_path: Path) -> None:
    """Paddle's helper processes survive a SIGKILL of their parent."""
    with gang(3, tmp_path, faults=[Fault("pass 1", "helper", rank=1), Fault("pass 1", "kill", rank=1)]) as g:
        (helper,) = g.await_trace("helper")
        (death,) = g.await_trace("fault", do="kill")
        restarts(g, "a trainer dies and leaves a helper", death["at"], first=1)
        assert not Path(f"/proc/{helper['helper']}").exists()


@pytest.mark.parametrize("torn", ["torn", "undone"])
def test_after_a_torn_checkpoint_the_one_before_it_is_taken(tmp_path: Path, torn: str) -> None:
    faults = [Fault("save 2", torn), Fault("pass 3", "exit 7", rank=1)]
    with gang(3, tmp_path, passes=4, faults=faults) as g:
        (failed,) = g.await_trace("fault", do="exit 7")
        restarts(g, f"the newest checkpoint is {torn}", failed["at"], first=2, passes=4)


def test_a_restart_waits_for_no_poll_to_run_out(tmp_path: Path) -> None:
    """News wakes who waits for it: here a poll without news would last a minute."""
    env = {"LAUNCHER_PEER_TIMEOUT": "300"}
    with gang(3, tmp_path, faults=[Fault("pass 1", "exit 7", rank=1)], env=env) as g:
        restarts(g, "a trainer exits 7 where polls are long", first=1)
