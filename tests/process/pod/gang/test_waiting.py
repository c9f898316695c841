"""A pod that is not there: who waits for it says so, and waits for as long as the settings say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.gangs import Fault, gang
from tests.support.launchers import Launcher

pytestmark = pytest.mark.timeout(60)

QUICK = {"LAUNCHER_PEER_TIMEOUT": "3", "LAUNCHER_JOIN_TIMEOUT": "3", "LAUNCHER_REJOIN_TIMEOUT": "3"}


def told(launcher: Launcher) -> str:
    """Return the reason that it waits for, as it told last."""
    return str(launcher.events("waiting_for_peers")[-1]["reason"])


def test_a_leader_that_never_answers_is_waited_for_until_the_join_time_out(tmp_path: Path) -> None:
    with gang(2, tmp_path, start=False, env=QUICK) as g:
        g.start(1)
        (follower,) = g.all
        failure = g.wait(lambda: follower.status().get("failure") or {})
        why = f"the leader, node 0 ({g.address(0)}),"
        assert failure["code"] == 75
        assert f"(LAUNCHER_JOIN_TIMEOUT): {why} did not answer for 3 s" in failure["reason"]
        assert told(follower) == f"{why} does not answer"
        follower.kill()


def test_a_leader_that_is_lost_is_waited_for_until_the_rejoin_time_out(tmp_path: Path) -> None:
    with gang(2, tmp_path, faults=[Fault("pass 1", "wait", times=0)], env=QUICK) as g:
        g.await_trace("fault", 2)
        g.launcher(0).kill()
        follower = g.launcher(1)
        failure = g.wait(lambda: follower.status().get("failure") or {})
        assert failure["code"] == 76
        assert "(LAUNCHER_REJOIN_TIMEOUT): the leader, node 0 " in failure["reason"]
        assert "does not answer" in told(follower)
        follower.kill()


def test_a_pod_that_is_missed_again_before_the_first_start_is_waited_for_until_the_join_time_out(
    tmp_path: Path,
) -> None:
    with gang(2, tmp_path, api=True, start=False, env=QUICK) as g:
        assert g.api
        g.api.put(g._pod(1, "pod-1", g.address(1)))
        g.start(0)
        g.wait(lambda: g.launcher(0).status().get("staged", False))
        g.api.remove("pod-1")
        (code,) = g.codes()
        assert code == 75
        assert "did not come together (LAUNCHER_JOIN_TIMEOUT): " in g.launcher(0).message()
        assert told(g.launcher(0)) in g.launcher(0).message()
