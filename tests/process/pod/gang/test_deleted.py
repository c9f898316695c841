"""Pods are deleted together and replaced at once, and their programs take their time: nobody trains beside them."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.gangs import Fault, gang
from tests.support.outcomes import is_done, note

pytestmark = pytest.mark.timeout(90)

HELD = Fault("pass 1", "wait", generation=1, times=0)
PATIENT = {"LAUNCHER_GRACE": "20"}  # longer than anybody waits for a pod that is gone


@pytest.mark.parametrize("deaf", [0, 1], ids=["leader", "member"])
def test_a_leader_and_a_member_deleted_together_of_which_one_has_a_trainer_that_ignores_term(
    tmp_path: Path, deaf: int
) -> None:
    faults = [Fault("start", "deaf", rank=deaf, generation=1), HELD]
    with gang(3, tmp_path, api=True, process_one=True, faults=faults, env=PATIENT) as g:
        g.await_trace("fault", 3, do="wait")
        told, at = [g.launcher(rank) for rank in (1, 0)], g.now()
        for each in told:
            each.send(signal.SIGTERM)
        for rank in (1, 0):
            g.replace(rank)
        starts = g.await_training(2, timeout=60)
        who = ("the leader's", "the member's")[deaf]
        seconds = max(start["at"] for start in starts) - at
        note(
            f"a leader and a member are deleted and replaced, {who} trainer ignores TERM", "all train again", seconds
        )
        assert {start["first"] for start in starts} == {1}
        is_done(g)
        assert [each.life.end(30) for each in told] == [143, 143]
