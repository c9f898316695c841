"""Another job's launcher at the address of a peer that is gone: nothing that it says is taken for this gang's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.gangs import Fault, gang
from tests.support.hard_faults import stranger
from tests.support.lives import shell
from tests.support.outcomes import restarts
from tests.support.pods import UID

pytestmark = pytest.mark.timeout(60)

HELD = Fault("pass 1", "wait", generation=1, times=0)


@pytest.mark.parametrize(
    ("key", "rank", "first"),
    [("", 0, 0), ("", 1, 1), (UID, 0, 1), (UID, 1, 1)],
    ids=["keyless, leader", "keyless, member", "keyed, leader", "keyed, member"],
)
def test_a_job_that_ends_well_at_a_lost_peers_address_is_no_end_of_this_one(
    tmp_path: Path, key: str, rank: int, first: int
) -> None:
    """Without a key a new leader does not know whose passes there are, and begins anew."""
    with gang(2, tmp_path, key=key, faults=[HELD]) as g:
        g.await_trace("fault", 2)
        at = g.launcher(rank).kill()
        assert stranger(g, rank, *shell("sleep 3")).end(20) == 0
        g.again(rank)
        restarts(g, f"another job ends with 0 at the lost {('leader', 'member')[rank]}'s address", at, first=first)


@pytest.mark.parametrize("rank", [0, 1], ids=["leader", "member"])
def test_a_job_that_fails_at_a_lost_peers_address_is_no_failure_of_this_one(tmp_path: Path, rank: int) -> None:
    """It lacks its files, which no restart cures."""
    with gang(2, tmp_path, faults=[HELD]) as g:
        g.await_trace("fault", 2)
        at = g.launcher(rank).kill()
        lacking = {"JOB_PATH": str(g.volume), "TRAIN_CONFIG_DIR": "not-there", "LAUNCHER_JOB_UID": "another-uid"}
        assert stranger(g, rank, "true", **lacking).end(30) == 74
        g.again(rank)
        restarts(g, f"another job ends with 74 at the lost {('leader', 'member')[rank]}'s address", at, first=1)
