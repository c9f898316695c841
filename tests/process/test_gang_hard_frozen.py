"""A pod is frozen for longer than anybody waits for it, and goes on: its first act is to kill its own children."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.support.gangs import Fault, Gang, gang
from tests.support.hard_faults import TICKING, check_overlap, frozen, ran
from tests.support.outcomes import is_done, note, restarts

pytestmark = pytest.mark.timeout(60)

WHO = pytest.mark.parametrize("rank", [0, 1], ids=["leader", "member"])
NAMES = ("the leader's", "a member's")
HELD = Fault("pass 1", "wait", generation=1, times=0)  # every trainer stands still there until it is over
QUICK = {"LAUNCHER_PEER_TIMEOUT": "3"}
# From the waking of a pod to the end of its last child, at most; it is a few milliseconds on an idle machine.
WINDOW = 0.5


def ended(g: Gang, *ranks: int) -> bool:
    """Return whether no trainer of these is left."""
    return all(g.launcher(rank).events("generation_ended") for rank in ranks)


@WHO
def test_a_pod_that_was_frozen_and_not_replaced_is_waited_for(tmp_path: Path, rank: int) -> None:
    with gang(3, tmp_path, command=TICKING, process_one=True, faults=[HELD], env=QUICK) as g:
        g.await_trace("fault", 3)
        old = g.launcher(rank)
        with frozen(old):
            g.wait(lambda: ended(g, *{0, 1, 2} - {rank}))
            time.sleep(3.5)  # so that it is lost by any measure
            assert len(g.trace("start", role="trainer")) == 3
        woken = g.now()
        g.wait(lambda: old.events("generation_ended"))
        window = max(each.until for each in ran(g) if each.generation == 1) - woken
        note(f"{NAMES[rank]} pod is frozen, not replaced", "it wakes, and its last child is dead", max(0.0, window))
        assert window < WINDOW
        restarts(g, f"{NAMES[rank]} pod is frozen, not replaced, and wakes", woken, first=1)
        check_overlap(g)


@WHO
def test_a_pod_that_was_frozen_and_replaced_finds_no_place_when_it_wakes(tmp_path: Path, rank: int) -> None:
    held = [HELD, Fault("pass 2", "wait late", generation=2, times=0)]
    with gang(3, tmp_path, command=TICKING, process_one=True, api=True, faults=held, env=QUICK) as g:
        g.await_trace("fault", 3)
        old = g.launcher(rank)
        with frozen(old):
            at = g.now()
            g.replace(rank)
            g.await_trace("fault", 3, place="pass 2")
            starts = [each.since for each in ran(g) if each.generation == 2]
            note(f"{NAMES[rank]} pod is frozen and replaced", "all start again", max(starts) - at)
        woken = g.now()
        g.wait(lambda: old.events("generation_ended"))
        window = max(each.until for each in ran(g) if each.generation == 1) - woken
        note(f"{NAMES[rank]} pod is frozen and replaced", "it wakes, and its last child is dead", max(0.0, window))
        assert window < WINDOW
        old.send(signal.SIGTERM)
        assert old.life.end() == 128 + signal.SIGTERM
        g.go("late")
        is_done(g)
        check_overlap(g, windows=[(woken - 0.01, woken + window + 0.01)])
        assert [event["generation"] for event in g.events("generation_made")] == [1, 2]
