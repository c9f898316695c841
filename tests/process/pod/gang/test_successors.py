"""A Job applied while an earlier one of its name still ends, or runs in another namespace on the same volume."""

from __future__ import annotations

import shutil
import signal
import sys
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

import pytest

from launcher.pod.gang.store.record import Record, on_volume
from launcher.pod.gang.store.runs import Runs
from tests.support.gangs import Fault, Gang, gang
from tests.support.histories import TRAINER
from tests.support.keeping import generation
from tests.support.launchers import Launcher
from tests.support.mounts import mounted
from tests.support.outcomes import DONE, is_done, note
from tests.support.pods import JOB, UID, pod
from tests.support.volume import lay_out

pytestmark = pytest.mark.timeout(90)

NEXT = "7a2f0c3e-0000-4000-8000-000000000002"
# The trainers save for as long as they may: they are deaf to TERM until the grace is over.
SAVING = [Fault("pass 1", "deaf", times=0), Fault("pass 1", "wait", times=0)]
SLOW = {"LAUNCHER_PEER_TIMEOUT": "3", "LAUNCHER_GRACE": "4"}
LONG = "18"  # longer than a leader stays for a verdict, and than its counter may stand still, together
HELD = Fault("pass 1", "wait", generation=1, times=0)


def waits(g: Gang, place: int = 0) -> str:
    """Return for whom the leader says that it waits."""
    word = g.launcher(place).status().get("word") or {}
    return str(word.get("waiting", ""))


def one_after_the_other(g: Gang, old: list[Launcher], what: str) -> None:
    """Hold that no trainer of the later Job ran before the last one of the earlier Job had ended."""
    theirs = {each.address for each in old}
    trainers = [each for each in g.history() if each.role == TRAINER]
    last = max(each.last for each in trainers if each.address in theirs)
    first = min(each.began for each in trainers if each.address not in theirs)
    assert last < first, f"both trained at once, for {last - first:.3f} s"
    note(what, "the later Job's trainers start after the earlier one's last", first - last)


def deleted(g: Gang) -> list[Launcher]:
    """Delete the Job, as kubectl does, and apply it again at once; return the old pods."""
    told = list(g.places)
    if g.api:
        g.api.put(*(pod(each.name, each.address, leaving=True, grace=4) for each in told))
    for each in told:
        each.send(signal.SIGTERM)
    g.apply(NEXT)
    g.script((), passes=3, seconds=0.02)
    g.start()
    return told


def overtaken(g: Gang) -> list[Launcher]:
    """Apply a Job of the name in another namespace; return the old pods."""
    old = g.apply(NEXT, JOB_NAMESPACE="team-b")
    g.script((), passes=3, seconds=0.02)
    g.start()
    return old


def test_by_a_list_a_job_applied_at_once_waits_by_the_record_until_nothing_of_the_old_one_runs(
    tmp_path: Path,
) -> None:
    with gang(2, tmp_path, faults=SAVING, env=SLOW | {"LAUNCHER_GRACE": "60"}) as g:
        g.await_trace("fault", 2, do="wait")
        old = deleted(g)
        g.wait(lambda: f"run 1 of this name (key {UID}) may still be running: it has not said" in waits(g))
        for each in old:
            each.child().kill()  # as at the end of the grace, which comes once the above was seen
        is_done(g)
        g.wait(lambda: None not in [each.code for each in old])
        assert {each.code for each in old} == {143}
        one_after_the_other(g, old, "a Job is deleted and applied at once, by a list")


def test_by_the_api_a_job_applied_at_once_names_the_pods_that_it_waits_for(tmp_path: Path) -> None:
    env = SLOW | {"LAUNCHER_RECORD": "none"}
    with gang(2, tmp_path, api=True, faults=SAVING, env=env) as g:
        g.await_trace("fault", 2, do="wait")
        old = deleted(g)
        names = ", ".join(f"{each.name} on node-a (being deleted)" for each in old)
        sentence = f"2 pods of an earlier Job of this name are still ending: {names}"
        told = g.wait(lambda: [each["reason"] for each in g.launcher(0).events("waiting_for_peers")])
        assert sentence in told[-1]
        g.wait(lambda: None not in [each.code for each in old])
        assert {start["address"] for start in g.trace("start")} == {each.address for each in old}
        for each in old:
            g.hide(each)
        is_done(g)
        one_after_the_other(g, old, "a Job is deleted and applied at once, by the API")


def test_of_two_namespaces_on_one_volume_and_name_the_later_one_goes_on(tmp_path: Path) -> None:
    held, first = [Fault("pass 1", "wait", times=0)], {"JOB_NAMESPACE": "team-a"}
    with gang(2, tmp_path, faults=held, env=SLOW | first) as g:
        g.await_trace("fault", 2)
        old = overtaken(g)
        is_done(g)
        g.wait(lambda: None not in [each.code for each in old])
        assert {(each.code, each.reason()) for each in old} == {
            (
                76,
                f"run 2 of this name (key {NEXT}, namespace team-b) has begun: "
                "of two runs of one name the newer one goes on",
            )
        }
        one_after_the_other(g, old, "two namespaces have one volume and name")


def test_a_later_run_that_cannot_stage_leaves_the_earlier_one_alone(tmp_path: Path) -> None:
    """Its leader is there, and staged, long before another pod finds no shard."""
    lay_out(tmp_path / "volume" / JOB, {f"{rank}/data/part": "x" for rank in range(2)})
    with gang(2, tmp_path, faults=[HELD], env=SLOW | {"JOB_NAMESPACE": "team-a"}) as g:
        g.await_trace("fault", 2)
        shutil.rmtree(g.volume / JOB / "1/data")
        old = g.apply(NEXT, JOB_NAMESPACE="team-b")
        g.start(0)
        g.wait(lambda: "has not answered yet" in waits(g))
        g.start(1)
        assert g.verdict()[0] == 74
        g.go()
        g.wait(lambda: None not in [each.code for each in old])
        assert {(each.code, each.reason()) for each in old} == {(0, DONE)}


@pytest.mark.parametrize("elsewhere", [False, True], ids=["after a delete", "from another namespace"])
def test_a_third_pod_that_saves_longest_is_waited_for(tmp_path: Path, elsewhere: bool) -> None:
    """The leader and the second move the run's counters, and have ended their own programs long before."""
    saving = [Fault("pass 1", "deaf", rank=2, times=0), Fault("pass 1", "wait", times=0)]
    with gang(3, tmp_path, faults=saving, env=SLOW | {"LAUNCHER_GRACE": LONG, "JOB_NAMESPACE": "team-a"}) as g:
        g.await_trace("fault", 3, do="wait")
        old = overtaken(g) if elsewhere else deleted(g)
        is_done(g)
        g.wait(lambda: None not in [each.code for each in old])
        one_after_the_other(g, old, "a third pod saves longest, and a later Job is applied")
        assert (g.output / f".launcher/{UID}/rest").exists()


@pytest.mark.parametrize("names", [False, True], ids=["by the API", "by names"])
def test_a_leader_that_is_told_to_stop_with_all_others_answers_until_it_is_overtaken(
    tmp_path: Path, names: bool
) -> None:
    """The new pods wait for the lease of one that saves, not for its grace."""
    saving, env = Fault("pass 1", "deaf", rank=2, generation=1), {"LAUNCHER_GRACE": LONG}
    with gang(3, tmp_path, api=not names, names=names, process_one=True, faults=[saving, HELD], env=env) as g:
        g.await_trace("fault", 3, do="wait")
        told = list(g.places)
        for each in told:
            each.send(signal.SIGTERM)
        for place in range(3):
            g.replace(place)
        made = g.wait(lambda: len(g.events("generation_made")) == 2 and g.now())
        g.wait(lambda: told[0].code is not None)
        note("all pods are deleted and replaced", "the old leader is overtaken, and ends", g.now() - made)
        is_done(g)
        assert [each.code for each in told] == [143, 143, 143]


def test_a_run_that_never_comes_to_its_end_is_waited_for_until_the_join_time_out(tmp_path: Path) -> None:
    env = {"LAUNCHER_JOIN_TIMEOUT": "3", "LAUNCHER_PEER_TIMEOUT": "3"}
    with gang(2, tmp_path, key=NEXT, env=env, start=False) as g:
        record = Record(where=on_volume(PurePosixPath(g.volume), JOB, "output", ".launcher"), key=UID, job=JOB)
        runs = Runs(record=record, peer_timeout=60.0, namespace="team-a")
        runs.enter()
        record.make(generation(1))
        g.start()

        def ended() -> bool:
            runs.move(0)
            return None not in [each.code for each in g.places]

        g.wait(ended)
        code, message = g.verdict()
        assert code == 75
        assert message.startswith("nothing changed for 3 s: ")
        assert f"run 1 of this name (key {UID}, namespace team-a) may still be running" in message


FULL = """
import os, sys
from pathlib import Path

top = Path(os.environ["JOB_PATH"], os.environ["JOB_NAME"], "output")
print("begins at", os.environ.get("LAUNCHER_START_PASS"), flush=True)
if os.environ["TRAINER_ID"] == "0":
    at = top / "pass-00000"
    at.mkdir(exist_ok=True)
    (at / "model").write_text("model")
    (at / "done").touch()
    for spare in top.glob(".launcher/*/verdict.spare") if "{spare}" == "no" else ():
        spare.unlink()
    try:
        with open(os.environ["JOB_PATH"] + "/filler", "ab", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    except OSError:
        pass
"""


@pytest.mark.parametrize("spare", ["kept", "no"])
def test_a_trainer_that_fills_the_volume_at_its_end_leaves_room_for_the_verdict(tmp_path: Path, spare: str) -> None:
    command = (sys.executable, "-c", FULL.replace("{spare}", spare))
    env = {"LAUNCHER_RUNTIME": "env"}
    with ExitStack() as stack:
        (tmp_path / "volume").mkdir()
        stack.enter_context(mounted("tmpfs", "none", tmp_path / "volume", "size=512k"))
        with gang(2, tmp_path, command=command, env=env) as g:
            code, reason = g.verdict()
            told = (
                ""
                if spare == "kept"
                else "; the volume has not taken this verdict: the next run of this name goes on "
                f"after pass 0; move {g.output}/pass-* away to prevent it"
            )
            assert (code, reason) == (0, DONE + told)
            assert len(list(g.output.glob(".launcher/*/verdict.json"))) == (spare == "kept")
        (tmp_path / "volume/filler").unlink()
        with gang(2, tmp_path, command=command, env=env, key=NEXT) as g:
            assert g.verdict()[0] == 0
            begins = "None" if spare == "kept" else "1"
            assert f"begins at {begins}" in g.launcher(0).life.rest()
            assert len(list(g.output.glob("run-*"))) == (spare == "kept")
