"""The network between one pod and the rest is cut, and healed: nobody trains alone, and nobody trains twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.gangs import Fault, gang
from tests.support.hard_faults import await_ends, last_run, networks
from tests.support.outcomes import is_done, note

pytestmark = pytest.mark.timeout(90)

HELD = [Fault("pass 1", f"wait {generation}", generation=generation, times=0) for generation in (1, 2, 3)]
QUICK = {"LAUNCHER_PEER_TIMEOUT": "3"}


@pytest.mark.parametrize("rank", [0, 1], ids=["leader", "member"])
def test_a_cut_network(tmp_path: Path, rank: int) -> None:
    """First both ways, then what goes out of the pod, then what comes in."""
    who = ("the leader's", "a member's")[rank]
    ways = {"both ways": (), "outwards alone": ("OUTPUT",), "inwards alone": ("INPUT",)}
    with (
        gang(3, tmp_path, process_one=True, faults=HELD, env=QUICK, start=False) as g,
        networks(g) as nets,
    ):
        g.start()
        for generation, (way, chains) in enumerate(ways.items(), start=1):
            g.await_trace("fault", 3, generation=generation)
            with nets.cut(rank, *chains) as cut:
                await_ends(g, generation, 0, 1, 2)
                note(f"{who} network is cut {way}", "the last trainer is dead", last_run(g, generation) - cut)
            healed = g.now()
            again = max(start["at"] for start in g.await_training(generation + 1)) - healed
            note(f"{who} network is healed after a cut {way}", "all start again", again)
        is_done(g)
