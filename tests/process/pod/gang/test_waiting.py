"""A pod that is not there: who waits for it says so, and waits for as long as the settings say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.gangs import Fault, gang
from tests.support.launchers import Launcher
from tests.support.mounts import mounted

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


def test_every_pod_tells_once_whom_the_gang_waits_for(tmp_path: Path) -> None:
    with gang(3, tmp_path, start=False, env={"LAUNCHER_PEER_TIMEOUT": "15"}) as g:
        g.start(0)
        g.start(2)
        why = f"node 1 ({g.address(1)}) has not answered yet"
        g.wait(lambda: all(each.events("waiting_for_peers") for each in g.all))
        assert [told(each) for each in g.all] == [why, why]
        g.start(1)
        assert g.verdict()[0] == 0
        for each in g.all[:2]:
            assert [event["reason"] for event in each.events("waiting_for_peers")].count(why) == 1


def test_a_volume_that_refuses_the_record_is_told_by_every_pod_and_in_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    with (
        mounted("tmpfs", "none", tmp_path / "volume", "ro"),
        gang(2, tmp_path, env={"LAUNCHER_JOIN_TIMEOUT": "9"}) as g,
    ):
        code, message = g.verdict()
        assert code == 75
        why = "the gang's record on the volume is not read yet: "
        assert message.startswith(f"nothing changed for 9 s: {why}{g.volume}")
        assert ": Read-only file system; mount the volume for writing, or set LAUNCHER_RECORD=none" in message
        for each in g.all:
            assert told(each).startswith(f"{why}{g.volume}")
