"""TERM in every phase, to the leader and to a member: 143 before the verdict, the verdict's code after it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.gangs import Fault, Gang, gang
from tests.support.outcomes import is_done, note, restarts
from tests.support.pods import JOB
from tests.support.volume import lay_out

pytestmark = pytest.mark.timeout(60)

WHO = pytest.mark.parametrize("rank", [0, 1], ids=["leader", "member"])
NAMES = ("the leader", "a member")
HELD = Fault("pass 1", "wait", generation=1, times=0)
QUICK = {"LAUNCHER_PEER_TIMEOUT": "3"}


def stop(g: Gang, rank: int, phase: str) -> float:
    """Tell one to stop, hold that it obeys with 143, and start it again; return when it was told."""
    told, at = g.launcher(rank), g.now()
    told.send(signal.SIGTERM)
    g.wait(lambda: told.code is not None)
    note(f"TERM to {NAMES[rank]} {phase}", "it ends with 143", g.now() - at)
    assert told.code == 143
    assert "told to stop by SIGTERM" in told.message()
    g.again(rank)
    return at


@WHO
def test_term_while_joining(tmp_path: Path, rank: int) -> None:
    with gang(3, tmp_path, process_one=True, env=QUICK, api=True, start=False) as g:
        g.start(0, 1)
        g.wait(lambda: g.launcher(rank).events("waiting_for_peers"))
        stop(g, rank, "while joining")
        g.start(2)
        is_done(g)


@WHO
def test_term_while_staging(tmp_path: Path, rank: int) -> None:
    with gang(3, tmp_path, process_one=True, env=QUICK, start=False) as g:
        files = {f"{each}/data/{n}": "x" for each in range(3) for n in range(500 if each == rank else 1)}
        lay_out(g.volume / JOB, files)
        g.start()
        g.wait(lambda: g.launcher(rank).phase == "staging")
        stop(g, rank, "while staging")
        is_done(g)


@WHO
def test_term_while_assembling(tmp_path: Path, rank: int) -> None:
    with gang(3, tmp_path, process_one=True, env=QUICK, start=False) as g:
        g.start(0, 1)
        g.wait(lambda: g.launcher(rank).status().get("staged", False))
        stop(g, rank, "while assembling")
        g.start(2)
        is_done(g)


@WHO
def test_term_while_serving(tmp_path: Path, rank: int) -> None:
    with gang(
        3,
        tmp_path,
        process_one=True,
        env=QUICK,
        faults=[Fault("start", "wait", rank=2, role="pserver", generation=1)],
    ) as g:
        g.await_trace("start", 3, role="pserver")
        at = stop(g, rank, "while pservers start")
        restarts(g, f"{NAMES[rank]} is stopped while pservers start, and back", at, first=0)


@WHO
def test_term_while_training(tmp_path: Path, rank: int) -> None:
    with gang(3, tmp_path, process_one=True, env=QUICK, faults=[HELD]) as g:
        g.await_trace("fault", 3)
        at = stop(g, rank, "while training")
        restarts(g, f"{NAMES[rank]} is stopped while training, and back", at, first=1)


@WHO
def test_term_between_generations(tmp_path: Path, rank: int) -> None:
    """A deaf trainer of a third pod holds the restart open."""
    deaf = [Fault("pass 1", "deaf", rank=2), Fault("pass 1", "hang", rank=2)]
    failing = [Fault("pass 1", "wait", rank=1 - rank), Fault("pass 1", "exit 7", rank=1 - rank)]
    with gang(3, tmp_path, process_one=True, env=QUICK, faults=[*deaf, *failing]) as g:
        g.await_trace("fault", do="hang")
        g.go()
        g.wait(lambda: g.launcher(rank).events("generation_ended"))
        at = stop(g, rank, "between generations")
        restarts(g, f"{NAMES[rank]} is stopped between generations, and back", at, first=1)


@WHO
def test_term_while_children_end_for_anothers_failure(tmp_path: Path, rank: int) -> None:
    """The failure came first, but what is told to stop does not start again."""
    deaf = [Fault("pass 1", "deaf", rank=rank), Fault("pass 1", "hang", rank=rank)]
    failing = [Fault("pass 1", "wait", rank=2), Fault("pass 1", "exit 7", rank=2)]
    with gang(3, tmp_path, process_one=True, faults=[*deaf, *failing]) as g:
        g.await_trace("fault", do="hang")
        g.go()
        g.wait(lambda: g.launcher(2).events("generation_ended"))
        at = stop(g, rank, "while its children end for a failure")
        restarts(g, f"{NAMES[rank]} is stopped while its children end, and back", at, first=1)


@WHO
def test_term_after_the_verdict_changes_nothing(tmp_path: Path, rank: int) -> None:
    """A deaf pserver holds the end open."""
    with gang(
        3, tmp_path, process_one=True, env=QUICK, faults=[Fault("serving", "deaf", rank=rank, role="pserver")]
    ) as g:
        g.wait(lambda: g.launcher(rank).events("verdict"))
        g.launcher(rank).send(signal.SIGTERM)
        is_done(g)


@pytest.mark.parametrize("rank", [0, 1], ids=["the leader saves", "a member saves"])
def test_two_pods_that_are_drained_together_have_their_grace_while_a_third_goes_on(tmp_path: Path, rank: int) -> None:
    """One saves for longer than the lease, and than the grace of a restart; the other's trainer ends at once."""
    saving = [Fault("pass 1", "saver 4", rank=rank, generation=1), Fault("pass 1", "hang", rank=rank, generation=1)]
    env = {**QUICK, "LAUNCHER_MAX_RESTARTS": "0", "LAUNCHER_GRACE": "20"}
    with gang(3, tmp_path, process_one=True, env=env, faults=[*saving, HELD]) as g:
        g.await_trace("fault", do="hang")
        g.await_trace("fault", 2, do="wait")
        both = [g.launcher(place) for place in (rank, 1 - rank)]
        at = g.now()
        for each in both:
            each.send(signal.SIGTERM)
        g.wait(lambda: all(each.code is not None for each in both))
        assert [each.code for each in both] == [143, 143]
        (saved,) = g.await_trace("farewell")
        note("two pods drained together", "the one that saves has its grace", saved["at"] - at)
        assert saved["rank"] == rank
        for place in (0, 1):
            g.again(place)
        restarts(g, "two pods drained together, and back", at, first=1)


@pytest.mark.parametrize("most", ["3", "0"], ids=["restarts left", "no restart allowed"])
def test_term_to_all_ends_all_with_143_and_what_is_started_again_goes_on(tmp_path: Path, most: str) -> None:
    """So a Job is suspended and resumed: a stop spends no restart."""
    env = {**QUICK, "LAUNCHER_MAX_RESTARTS": most}
    with gang(3, tmp_path, process_one=True, env=env, faults=[HELD]) as g:
        g.await_trace("fault", 3)
        at = g.now()
        for each in g.places:
            each.send(signal.SIGTERM)
        assert g.codes() == [143, 143, 143]
        note("TERM to all", "all end with 143", g.last_end() - at)
        assert not list(g.output.glob(".launcher/*/verdict.json"))
        for place in range(3):
            g.again(place)
        restarts(g, "TERM to all, and all are started again", at, first=1)
