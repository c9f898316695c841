"""Programs behind a shell, in pods whose launcher is not process 1: nothing of them outlives their launcher."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.gangs import Fault, gang
from tests.support.outcomes import restarts
from tests.support.script import BEHIND_A_SHELL

pytestmark = pytest.mark.timeout(60)

HELD = Fault("pass 1", "wait", generation=1, times=0)
QUICK = {"LAUNCHER_PEER_TIMEOUT": "3"}


@pytest.mark.parametrize("rank", [0, 1], ids=["leader", "member"])
def test_a_launcher_that_is_killed_takes_what_its_shells_started_with_it(tmp_path: Path, rank: int) -> None:
    with gang(3, tmp_path, command=BEHIND_A_SHELL, faults=[HELD], env=QUICK) as g:
        g.await_trace("fault", 3)
        at = g.launcher(rank).kill()
        g.again(rank)
        who = ("leader", "member")[rank]
        restarts(g, f"the {who}'s launcher is killed, not process 1, its program behind a shell", at, first=1)
