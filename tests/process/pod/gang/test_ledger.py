"""Where the time of real launchers went, from their events alone: what each counted, and what nobody did."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from launcher.contract import Spent
from launcher.report.goodput.account import RunAccount
from launcher.report.reading import read_events
from launcher.report.story import read_story
from tests.support.gangs import Fault, Gang, gang
from tests.support.launchers import Launcher

pytestmark = pytest.mark.timeout(90)

LITTLE = 0.01  # of all may be unknown where no pod was lost
ABOUT = 0.4  # seconds: what the tests see of a program comes a moment before or after what its launcher sees


def account(g: Gang) -> RunAccount:
    """Return the account of a gang that has ended."""
    story = read_story(read_events((g.output / "events.jsonl").read_bytes().splitlines()))
    assert story
    assert story.account
    return story.account


def seconds(g: Gang) -> dict[int, dict[str, float]]:
    """Return by rank what the last ledger has."""
    return {each["rank"]: each["seconds"] for each in g.events("ledger")[-1]["members"]}


def spent(launcher: Launcher) -> dict[str, float]:
    """Return what a launcher that has ended said last of its seconds."""
    found: dict[str, float] = launcher.events("launcher_finished")[-1]["spent"]
    return found


def passed(g: Gang, at: float, seconds: float) -> None:
    """Wait until so much has passed since a moment of the trace."""
    g.wait(lambda: g.now() >= at + seconds)


def holds(found: RunAccount) -> None:
    assert found.seconds.get(Spent.UNKNOWN, 0.0) <= LITTLE * found.whole, found
    assert Spent.OPEN not in found.seconds
    assert found.away == 0.0


@pytest.mark.parametrize("size", [1, 3])
def test_each_second_of_an_undisturbed_run_is_counted(tmp_path: Path, size: int) -> None:
    with gang(size, tmp_path, passes=3, seconds=0.5) as g:
        assert g.codes() == [0] * size
        found = account(g)
        holds(found)
        assert found.places == size
        assert Spent.LOST not in found.seconds
        for each in g.places:
            assert sum(spent(each).values()) == pytest.approx(each.ended - each.started, abs=0.7)
            (start,) = g.trace("start", role="trainer", address=each.address)
            (end,) = g.trace("end", role="trainer", address=each.address)
            trained = spent(each)[Spent.KEPT] + spent(each).get(Spent.BARRIER, 0.0)
            assert trained == pytest.approx(end["at"] - start["at"], abs=1.0)  # and the start of its Python
        shown = json.dumps(g.events("ledger"))
        assert all(f'"rank": {rank}' in shown for rank in range(size))


def test_of_a_trainer_that_is_killed_what_it_trained_since_the_last_pass_is_lost(tmp_path: Path) -> None:
    faults = [Fault("pass 2", "wait", rank=1), Fault("pass 2", "kill", rank=1)]
    with gang(2, tmp_path, passes=4, seconds=0.5, faults=faults) as g:
        (waits,) = g.await_trace("fault", do="wait")
        passed(g, waits["at"], 2.0)
        g.go()
        assert g.codes() == [0, 0]
        (kill,) = g.trace("fault", do="kill")
        saved = max(each["at"] for each in g.trace("saved", number=1) if each["at"] < kill["at"])
        lost = kill["at"] - saved
        assert lost > 2.0
        found = account(g)
        holds(found)
        assert seconds(g)[1][Spent.LOST] == pytest.approx(lost, abs=ABOUT)
        assert seconds(g)[0][Spent.LOST] == pytest.approx(0.5, abs=ABOUT)  # then it waited at the barrier
        assert seconds(g)[0][Spent.BARRIER] == pytest.approx(lost - 0.5, abs=2 * ABOUT)
        assert found.lost_by[1] == pytest.approx(lost + 0.5, abs=2 * ABOUT)
        assert found.lost_by[2] == 0.0


def test_a_run_that_fails_has_lost_what_came_after_its_newest_pass(tmp_path: Path) -> None:
    faults = [Fault("pass 2", "wait"), Fault("pass 2", "exit 7")]
    with gang(1, tmp_path, passes=4, seconds=0.5, faults=faults, env={"LAUNCHER_MAX_RESTARTS": "0"}) as g:
        (waits,) = g.await_trace("fault", do="wait")
        passed(g, waits["at"], 1.5)
        g.go()
        assert g.codes() == [7]
        (failed,) = g.trace("fault", do="exit 7")
        (saved,) = g.trace("saved", number=1)
        holds(account(g))
        assert spent(g.launcher(0))[Spent.LOST] == pytest.approx(failed["at"] - saved["at"], abs=ABOUT)
        assert spent(g.launcher(0))[Spent.KEPT] > 0.5
        assert account(g).lost_by[1] == pytest.approx(failed["at"] - saved["at"], abs=ABOUT)


def test_what_a_pod_that_is_told_to_stop_left_open_is_decided_with_the_next_generation(tmp_path: Path) -> None:
    """Nobody counts for its place until it is there again, as where a node is drained."""
    with gang(2, tmp_path, passes=4, seconds=0.5, faults=[Fault("pass 2", "wait", generation=1, times=0)]) as g:
        (waits, _) = g.await_trace("fault", 2, do="wait")
        passed(g, waits["at"], 1.0)
        g.launcher(1).send(signal.SIGTERM)
        g.wait(lambda: g.launcher(1).code is not None)
        gone = g.launcher(1)
        assert spent(gone)[Spent.OPEN] > 1.0
        assert spent(gone)[Spent.LEAVING] > 0.0
        passed(g, g.now(), 1.0)
        g.again(1)
        assert g.codes() == [0, 0]
        found = account(g)
        assert Spent.OPEN not in found.seconds
        away = g.launcher(1).started - gone.ended
        assert found.seconds[Spent.UNKNOWN] == pytest.approx(away, abs=2 * ABOUT)
        assert [str(gap.seat) for gap in found.gaps if gap.end - gap.begin > ABOUT] == ["node 1"]
        assert found.lost_by[1] == pytest.approx(2.0, abs=4 * ABOUT)


def test_a_job_that_is_suspended_as_a_whole_is_away_until_it_is_resumed(tmp_path: Path) -> None:
    with gang(2, tmp_path, passes=4, seconds=0.5, faults=[Fault("pass 2", "wait", generation=1, times=0)]) as g:
        (waits, _) = g.await_trace("fault", 2, do="wait")
        passed(g, waits["at"], 1.0)
        before = list(g.places)
        for each in before:
            each.send(signal.SIGTERM)
        g.wait(lambda: all(each.code is not None for each in before))
        gone = g.now()
        passed(g, gone, 3.0)
        for place in range(2):
            g.again(place)
        again = g.now()
        assert g.codes() == [0, 0]
        found = account(g)
        assert found.away == pytest.approx(again - gone, abs=3 * ABOUT)
        assert found.seconds.get(Spent.UNKNOWN, 0.0) < 4 * ABOUT
        assert Spent.OPEN not in found.seconds
        assert found.lost_by[1] == pytest.approx(2.0, abs=4 * ABOUT)


@pytest.mark.parametrize("rank", [0, 1], ids=["the leader", "a member"])
def test_of_a_pod_that_is_lost_the_unknown_is_stated(tmp_path: Path, rank: int) -> None:
    """What it did after its last answer, and the time until it is there again."""
    faults = [Fault("pass 1", "wait", generation=1, times=0)]
    with gang(3, tmp_path, passes=3, seconds=0.5, process_one=True, faults=faults) as g:
        g.await_trace("fault", 3)
        at = g.launcher(rank).kill()
        passed(g, at, 2.0)
        again = g.again(rank)
        assert g.codes() == [0, 0, 0]
        found = account(g)
        (gap,) = [each for each in found.gaps if each.end - each.begin > ABOUT]
        assert str(gap.seat) == f"node {rank}"
        least = again.started - at
        assert least - ABOUT < gap.end - gap.begin < least + 4.0  # and a poll, a lease where it led
        assert found.seconds[Spent.UNKNOWN] == pytest.approx(gap.end - gap.begin, abs=ABOUT)
        assert Spent.OPEN not in found.seconds


def test_a_leader_tells_the_seconds_of_all_while_they_train(tmp_path: Path) -> None:
    with gang(2, tmp_path, passes=2, faults=[Fault("pass 0", "wait", times=0)]) as g:
        g.await_trace("fault", 2)
        g.wait(lambda: g.launcher(1).status().get("seconds", {}).get(Spent.OPEN, 0.0) > 1.0)
        told = g.launcher(1).status()["seconds"]
        lived = g.now() - g.launcher(1).started
        assert lived - 1.5 < sum(told.values()) < lived + ABOUT
        code, page = g.launcher(0).page("/gang")
        assert code == 200
        assert all(each["seconds"][Spent.STARTING] > 0 for each in json.loads(page)["members"])
        g.go()
        assert g.codes() == [0, 0]
