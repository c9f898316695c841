"""How a gang ends: everywhere with one code and one message, whatever is lost on the way."""

from __future__ import annotations

import signal
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.support.gangs import Fault, gang
from tests.support.outcomes import DONE, ends, note, restarts
from tests.support.pods import JOB, UID
from tests.support.volume import lay_out

pytestmark = pytest.mark.timeout(60)

ALWAYS_7 = Fault("pass 1", "exit 7", rank=1, times=0)


def test_a_budget_that_is_spent_ends_all_with_the_failing_trainers_code(tmp_path: Path) -> None:
    with gang(3, tmp_path, faults=[ALWAYS_7], env={"LAUNCHER_MAX_RESTARTS": "1"}) as g:
        (_, last) = g.await_trace("fault", 2)
        message = ends(
            g, "a trainer fails again, and the budget is spent", last["at"], code=7, text="; no restart of 1 is left"
        )
        assert message.startswith(f"trainer 1 exited with 7, on node 1 ({g.address(1)})")
        assert "the last lines of its log:\npass 1" in message
        assert [event["restarts"] for event in g.events("generation_made")] == [0, 1]


@pytest.mark.parametrize("key", [UID, ""], ids=["with a record", "without one"])
@pytest.mark.parametrize("rank", [0, 1], ids=["the leader's", "a member's"])
def test_a_peer_time_out_that_differs_is_refused_before_anything_starts(tmp_path: Path, rank: int, key: str) -> None:
    """Also for one that comes when the leader knows it already."""
    with gang(3, tmp_path, key=key, env_of={rank: {"LAUNCHER_PEER_TIMEOUT": "9"}}, start=False) as g:
        g.start(0, 1)
        g.wait(lambda: g.launcher(1).events("roster_complete"))
        g.start(2)
        code, message = g.verdict()
        seconds = [9 if place == rank else 5 for place in range(2)]
        where = [f"{each} s on node {place} ({g.address(place)})" for place, each in enumerate(seconds)]
        assert code == 78
        assert message == f"LAUNCHER_PEER_TIMEOUT is {where[0]} and {where[1]}: set the same on every pod"
        assert not g.trace("start")


def test_in_a_gang_of_five_without_restarts_the_first_failure_ends_all(tmp_path: Path) -> None:
    with gang(5, tmp_path, faults=[ALWAYS_7], env={"LAUNCHER_MAX_RESTARTS": "0"}) as g:
        ends(g, "of five, a trainer fails, no restarts", code=7, text="trainer 1 exited with 7")


def test_a_crash_loop_goes_round_ever_more_slowly(tmp_path: Path) -> None:
    faults = [Fault("start", "exit 7", rank=1, times=3)]
    with gang(3, tmp_path, faults=faults) as g:
        restarts(g, "a crash loop: three failures at the start", first=0, generation=4)
        failed = [fault["at"] for fault in g.trace("fault")]
        again = [start["at"] for start in g.trace("start", role="trainer", rank=1)][1:]
        waits = [start - fault for fault, start in zip(failed, again, strict=True)]
        assert waits[1] >= 1
        assert waits[2] >= 2


def test_a_launcher_started_again_does_not_renew_the_budget(tmp_path: Path) -> None:
    held = Fault("pass 1", "wait", generation=2, times=0)
    faults = [Fault("pass 1", "exit 7", rank=1), held]
    with gang(3, tmp_path, process_one=True, faults=faults, env={"LAUNCHER_MAX_RESTARTS": "1"}) as g:
        g.await_trace("fault", 3, do="wait")
        at = g.launcher(0).kill()
        g.again(0)
        ends(g, "the leader is lost, and the budget is spent", at, code=76, text="; no restart of 1 is left")


def test_a_launcher_lost_after_the_verdict_changes_nothing(tmp_path: Path) -> None:
    """A deaf trainer holds its pod's end back for its grace."""
    deaf = [Fault("pass 1", "deaf", rank=2), Fault("pass 1", "hang", rank=2)]
    failing = [Fault("pass 1", "wait", rank=1), Fault("pass 1", "exit 7", rank=1)]
    with gang(3, tmp_path, faults=[*deaf, *failing], env={"LAUNCHER_MAX_RESTARTS": "0"}) as g:
        g.await_trace("fault", do="hang")
        g.go()
        g.wait(lambda: g.launcher(2).events("verdict"))
        at = g.launcher(2).kill()
        assert g.codes()[:2] == [7, 7]
        note("a launcher is lost after the verdict", "the others end with 7", g.last_end() - at)
        assert g.launcher(0).message() == g.launcher(1).message() != ""


def test_a_leader_answers_with_its_verdict_for_as_long_as_the_others_programs_have_grace(tmp_path: Path) -> None:
    """Its answers are their lease, which is shorter than what is left of their grace."""
    deaf = Fault("start", "deaf", rank=1, role="pserver")
    with gang(2, tmp_path, faults=[deaf], env={"LAUNCHER_PEER_TIMEOUT": "3", "LAUNCHER_GRACE": "14"}) as g:
        assert g.codes() == [0, 0]
        (verdict,) = g.launcher(1).events("verdict")
        (ended,) = (each for each in g.launcher(1).events("child_exited") if each["child"].startswith("pserver"))
        times = (datetime.fromisoformat(each["timestamp"]) for each in (ended, verdict))
        assert next(times) - next(times) >= timedelta(seconds=13.9)


def test_a_leader_killed_between_the_verdict_and_its_end_leaves_success_to_the_others(tmp_path: Path) -> None:
    """One member is stopped, so that it cannot have heard the verdict: it finds it in the record.

    It has no pserver, and has said that its trainer is done: nothing more is asked of it. The leader's pserver is
    deaf, so that its grace keeps the leader from its end.
    """
    faults = [Fault("end", "wait", rank=0), Fault("pass 1", "deaf", rank=0, role="pserver")]
    grace = {"LAUNCHER_GRACE": "40"}
    with gang(3, tmp_path, process_one=True, faults=faults, pservers=1, env_of={0: grace}) as g:
        g.wait(lambda: g.launcher(2).status().get("trained") == 1)
        g.launcher(2).send(signal.SIGSTOP)
        g.go()
        g.wait(lambda: list(g.output.glob(".launcher/*/verdict.json")))
        at = g.launcher(0).kill()
        g.launcher(2).send(signal.SIGCONT)
        assert g.codes()[1:] == [0, 0]
        note("the leader is killed between verdict and done", "the others end with 0", g.last_end() - at)
        assert {each.reason() for each in g.places[1:]} == {DONE}


@pytest.mark.parametrize("link", [False, True], ids=["missing", "refused"])
def test_a_shard_that_one_rank_cannot_have_ends_all_with_74(tmp_path: Path, link: bool) -> None:
    with gang(3, tmp_path, start=False) as g:
        lay_out(g.volume / JOB, {f"{rank}/data/part": "x" for rank in range(3 if link else 2)})
        if link:
            (g.volume / JOB / "2/data/out").symlink_to("/etc")
        at = g.now()
        g.start()
        ends(
            g, f"the shard of one rank is {'refused' if link else 'missing'} (since the start)", at, code=74, text="2"
        )


def test_a_program_that_is_not_there_ends_all_with_71(tmp_path: Path) -> None:
    with gang(3, tmp_path, start=False, command=("/not/there",)) as g:
        at = g.now()
        g.start()
        ends(g, "the program is not there (since the start)", at, code=71, text="cannot start '/not/there'")


def test_a_trainer_that_stands_still_is_named_and_all_start_again(tmp_path: Path) -> None:
    """The others wait for it at a barrier, which is no standing still."""
    with gang(3, tmp_path, faults=[Fault("pass 1", "hang", rank=1)], env={"LAUNCHER_STALL_TIMEOUT": "1"}) as g:
        restarts(g, "a trainer stands still (after 1 s)", first=1)
        assert "trainer 1" in g.events("generation_made")[1]["cause"]
        log = (g.output / "node_1" / "train.log").read_text()
        assert "most recent call first" in log
        assert "==== generation 2, after pass 0: trainer 1" in log
