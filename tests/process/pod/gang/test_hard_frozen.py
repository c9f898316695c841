"""A pod is frozen for longer than anybody waits for it, and goes on: its first act is to kill its own children."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.support.gangs import WAKING, Fault, Gang, gang
from tests.support.hard_faults import Ice, await_ends, frozen, last_run
from tests.support.outcomes import is_done, note

pytestmark = pytest.mark.timeout(60)

NAMES = ("the leader's", "a member's")
QUICK = {"LAUNCHER_PEER_TIMEOUT": "3"}


def held(*generations: int) -> list[Fault]:
    """Let every trainer of these stand still at pass 1."""
    return [Fault("pass 1", f"wait {number}", generation=number, times=0) for number in generations]


def ran_on(g: Gang, ice: Ice, generation: int) -> float:
    """Return for how long children of a pod ran that woke, held to be short."""
    seconds = max(last_run(g, generation) - ice.woken, 0.0)
    assert seconds < WAKING
    return seconds


def test_a_pod_that_was_frozen_and_not_replaced_is_waited_for(tmp_path: Path) -> None:
    with gang(3, tmp_path, process_one=True, faults=held(1, 2), env=QUICK) as g:
        for rank, name in enumerate(NAMES):
            generation = rank + 1
            g.await_trace("fault", 3, generation=generation)
            with frozen(g.launcher(rank)) as ice:
                await_ends(g, generation, *{0, 1, 2} - {rank})
                time.sleep(max(0.0, ice.frozen + 3.5 - g.now()))  # so that it is lost by any measure
                assert not g.trace("start", role="trainer", generation=generation + 1)
            starts = g.await_training(generation + 1)
            note(f"{name} pod is frozen, and wakes", "its last child is dead", ran_on(g, ice, generation))
            note(
                f"{name} pod is frozen, and wakes", "all start again", max(each["at"] for each in starts) - ice.woken
            )
        is_done(g)


@pytest.mark.parametrize("rank", [0, 1], ids=["leader", "member"])
def test_a_pod_that_was_frozen_and_replaced_finds_no_place_when_it_wakes(tmp_path: Path, rank: int) -> None:
    faults = held(1, 2)
    with gang(3, tmp_path, process_one=True, api=True, faults=faults, env=QUICK) as g:
        g.await_trace("fault", 3)
        old = g.launcher(rank)
        with frozen(old) as ice:
            g.replace(rank)
            starts = g.await_trace("fault", 3, generation=2)
            note(f"{NAMES[rank]} pod is frozen and replaced", "all start again", starts[-1]["at"] - ice.frozen)
        g.wait(lambda: old.events("generation_ended"))
        note(f"{NAMES[rank]} pod is frozen and replaced, and wakes", "its last child is dead", ran_on(g, ice, 1))
        old.send(signal.SIGTERM)
        assert old.life.end() == 128 + signal.SIGTERM
        g.go("2")
        is_done(g)
        assert [event["generation"] for event in g.events("generation_made")] == [1, 2]
