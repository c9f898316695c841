"""Gangs that are to end as planned: programs are told, save a pass in the while that they have, and nothing is lost.

And what follows a loss where there are spares, or where the API goes on showing a pod that nobody hears.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.support.gangs import Gang, gang
from tests.support.launchers import Launcher
from tests.support.pods import JOB
from tests.support.volume import lay_out
from tests.support.whole_lines import whole_lines

pytestmark = pytest.mark.timeout(120)
STOPPED = 128 + signal.SIGTERM
ENV = {
    "LAUNCHER_RUNTIME": "env",
    "LAUNCHER_SETTLE": "1",
    "LAUNCHER_SHRINK_AFTER": "2",
    "LAUNCHER_GRACE": "10",
    "LAUNCHER_PEER_TIMEOUT": "3",
    "LAUNCHER_MAX_RESTARTS": "0",
    "CONF_PADDLE_GRADIENT_NUM": "",
}
# It trains steps of a twentieth of a second, which its ranks take together, until the file `enough` is there. What it
# does stands in `told`: each step, and each pass with the step that it was saved at.
PRELUDE = f"""
import json, os, signal, sys, time
import sitecustomize
sys.path.insert(0, {str(Path(__file__).parents[4])!r})
from launcher import here

TOP = os.path.dirname(os.environ["GANG_SCRIPT"])

def tell(what, **facts):
    line = json.dumps(dict(facts, what=what, rank=here.rank(), of=here.trainers(), at=time.monotonic()))
    with open(TOP + "/told", "ab", buffering=0) as told:
        told.write(line.encode() + b"\\n")

def there(name):
    if here.rank() == 0:
        here.share(f"{{name}} {{step}}", os.path.exists(TOP + "/" + name))
    return here.get(f"{{name}} {{step}}", rank=0)

def save():
    global number
    with here.saving(number, position=step) as directory:
        if directory:
            open(directory + "/model", "w").write("x")
            tell("saved", number=number, step=step)
    number += 1

number = here.resume()[0]
step = here.position() or 0
tell("start", number=number, step=step)
"""
TRAINS = """
while not there("enough"):
    left = here.leaving() if asks else None
    if left:
        tell("left", step=step, seconds=left[0], why=left[1])
        save()
        tell("returned")
    step += 1
    here.barrier(f"step {step}")
    time.sleep(0.05)
    tell("step", step=step)
    if step % every == 0:
        save()
"""


def trains(
    top: Path,
    count: int,
    members: str,
    *,
    asks: bool = True,
    every: int = 1000,
    text: str = TRAINS,
    of: Mapping[int, Mapping[str, str]] | None = None,
    **env: str,
) -> AbstractContextManager[Gang]:
    settings: Mapping[str, str] = {**ENV, "LAUNCHER_MEMBERS": members, **env}
    program = f"{PRELUDE}asks, every = {asks}, {every}\n{text}"
    command = (sys.executable, "-S", "-c", program)
    return gang(count, top, api=True, process_one=True, start=False, command=command, env=settings, env_of=of)


def told(g: Gang, what: str, **facts: object) -> list[dict[str, Any]]:
    every = [json.loads(line) for line in whole_lines(g.top / "told")]
    return [line for line in every if {"what": what, **facts}.items() <= line.items()]


def await_step(g: Gang, of: int, count: int = 3) -> None:
    """Wait until some steps were made by so many."""
    g.wait(lambda: len(told(g, "step", of=of)) >= count * of)


def end_well(g: Gang) -> None:
    (g.top / "enough").touch()
    assert g.verdict() == (0, "every trainer is done")


def made(g: Gang) -> list[tuple[int, int | None, int]]:
    """Return of each generation how many members it has, after which pass it goes on, and what it has cost."""
    return [(len(each["members"]), each["resume"], each["restarts"]) for each in g.events("generation_made")]


def leave(g: Gang, place: int) -> Launcher:
    """Tell a pod to stop, which nothing replaces."""
    leaver = g.places.pop(place)
    leaver.send(signal.SIGTERM)
    g.hide(leaver)
    return leaver


def no_step_is_lost(g: Gang) -> None:
    """Each step was made once by each of those who trained then, and none twice."""
    steps = [(line["step"], line["rank"]) for line in told(g, "step")]
    assert len(steps) == len(set(steps)), (
        f"made twice: {sorted(each for each in set(steps) if steps.count(each) > 1)}"
    )
    numbers = sorted({step for step, _ in steps})
    assert numbers == list(range(1, len(numbers) + 1))


def test_all_are_told_at_the_same_step_save_a_pass_and_the_others_lose_no_step(tmp_path: Path) -> None:
    with trains(tmp_path, 3, "1:3") as g:
        g.start()
        await_step(g, 3)
        leaver = leave(g, 2)
        await_step(g, 2)
        end_well(g)
        left = told(g, "left")
        assert {(each["rank"], each["step"]) for each in left} == {(rank, left[0]["step"]) for rank in range(3)}
        assert {each["why"] for each in left} == {f"node 2 ({leaver.address}, {leaver.name}) was told to stop"}
        assert all(0 < each["seconds"] <= 5 for each in left)
        assert not told(g, "returned"), "a saving returned though all was about to end"
        assert made(g) == [(3, None, 0), (2, 0, 0)]
        assert told(g, "start", number=1, step=left[0]["step"])
        (noted,) = g.events("leaving")
        assert (noted["generation"], noted["seconds"], noted["reason"]) == (1, 5, left[0]["why"])
        no_step_is_lost(g)
        assert leaver.code == STOPPED


def test_the_leader_is_told_to_stop_and_the_others_lose_no_step(tmp_path: Path) -> None:
    with trains(tmp_path, 3, "1:3") as g:
        g.start()
        await_step(g, 3)
        leaver = leave(g, 0)
        await_step(g, 2)
        end_well(g)
        assert made(g) == [(3, None, 0), (2, 0, 0)]
        no_step_is_lost(g)
        assert leaver.code == STOPPED


def test_a_whole_gang_that_is_suspended_goes_on_at_another_width_at_once(tmp_path: Path) -> None:
    with trains(tmp_path, 3, "1:3") as g:
        g.start()
        await_step(g, 3)
        for each in g.places:
            each.send(signal.SIGTERM)
        assert g.codes() == [STOPPED] * 3
        g.hide(g.places.pop(2))
        begun = g.now()
        for place in (0, 1):
            g.replace(place)
        await_step(g, 2)
        end_well(g)
        assert made(g) == [(3, None, 0), (2, 0, 0)]
        no_step_is_lost(g)
        first = min(line["at"] for line in told(g, "start", of=2))
        assert first < begun + 4, "the new gang waited for the old one, of which it is written that nothing runs"


def test_a_saving_does_not_return_while_others_are_ready_to_take_part(tmp_path: Path) -> None:
    with trains(tmp_path, 3, "2:3", asks=False, every=10) as g:
        g.start(0, 1)
        await_step(g, 2)
        g.start(2)
        await_step(g, 3)
        end_well(g)
        (_, second) = made(g)
        assert (second[0], second[2]) == (3, 0)
        no_step_is_lost(g)


def test_a_program_that_does_not_ask_can_be_given_a_signal(tmp_path: Path) -> None:
    text = """
def note(*_):
    tell("noticed")
    save()

signal.signal(signal.SIGUSR1, note)
while True:
    tell("step", step=step)
    time.sleep(0.05)
"""
    with trains(tmp_path, 2, "1:2", text=text, LAUNCHER_NOTICE="USR1") as g:
        g.start()
        await_step(g, 2)
        leave(g, 1)
        await_step(g, 1)
        assert {each["rank"] for each in told(g, "noticed")} == {0, 1}
        assert made(g) == [(2, None, 0), (1, 0, 0)]
        g.places[0].send(signal.SIGTERM)
        assert g.codes() == [STOPPED]


def test_what_a_program_does_once_it_was_told_is_no_failure_and_no_success(tmp_path: Path) -> None:
    text = """
while not there("enough"):
    if here.leaving():
        sys.exit(here.rank() * 3)
    step += 1
    time.sleep(0.05)
    tell("step", step=step)
"""
    with trains(tmp_path, 3, "1:3", text=text) as g:
        g.start()
        await_step(g, 3)
        leave(g, 2)
        await_step(g, 2)
        end_well(g)
        assert made(g) == [(3, None, 0), (2, None, 0)]


def test_a_spare_takes_the_place_of_a_lost_pod_at_once(tmp_path: Path) -> None:
    with trains(tmp_path, 3, "2:2", LAUNCHER_SPARES="1", LAUNCHER_MAX_RESTARTS="1", LAUNCHER_SHRINK_AFTER="30") as g:
        g.start()
        await_step(g, 2)
        spare = g.places[2]
        g.wait(lambda: any("is a spare: 2 take part" in each["reason"] for each in spare.events("waiting_for_peers")))
        lost = g.places.pop(1)
        died = lost.kill()
        g.wait(lambda: len(told(g, "start", of=2)) == 4)
        took = told(g, "start", rank=1)[-1]["at"] - died
        end_well(g)
        print(f"from a pod's death to its spare's program: {took:.2f} s")
        assert made(g)[1:] == [(2, None, 1)]
        assert [who["address"] for who in g.events("generation_made")[-1]["members"]] == [g.address(0), g.address(2)]


def test_a_spare_has_the_jobs_files_before_it_is_needed_and_its_data_once_it_is(tmp_path: Path) -> None:
    files = {"code/helper.txt": "as staged", **{f"data/{each}/part-{each}": f"{each}" for each in range(2)}}
    lay_out(tmp_path / "volume" / JOB, files)
    with trains(tmp_path, 3, "2:2", LAUNCHER_SPARES="1", LAUNCHER_MAX_RESTARTS="1", TRAIN_CONFIG_DIR="code") as g:
        g.start()
        await_step(g, 2)
        spare = g.places[2].work
        g.wait((spare / "helper.txt").exists)
        assert not (spare / "data").exists()
        (spare / "helper.txt").write_text("changed since")
        g.places.pop(1).kill()
        g.wait(lambda: len(told(g, "start", of=2)) == 4)
        assert ((spare / "helper.txt").read_text(), len([*(spare / "data").iterdir()])) == ("changed since", 1)
        assert not (spare / "helper.txt.before").exists()
        end_well(g)


def test_a_pod_that_is_shown_and_not_heard_is_left_out_and_comes_back(tmp_path: Path) -> None:
    with trains(tmp_path, 3, "1:3", every=5, LAUNCHER_MAX_RESTARTS="1") as g:
        g.start()
        await_step(g, 3)
        g.places[2].kill()  # and the API server goes on showing its pod
        await_step(g, 2)
        assert [width for width, _, _ in made(g)] == [3, 2]
        g.again(2)
        await_step(g, 3, count=8)
        end_well(g)
        assert [(width, cost) for width, _, cost in made(g)] == [(3, 0), (2, 1), (3, 1)]


def test_of_three_in_units_of_two_one_is_a_spare_until_a_fourth_comes(tmp_path: Path) -> None:
    with trains(tmp_path, 4, "2:4", every=10, LAUNCHER_UNIT="2") as g:
        g.start()
        await_step(g, 4)
        leaver = leave(g, 1)
        await_step(g, 2)
        last = g.places[2]
        assert [each["reason"] for each in last.events("waiting_for_peers")] == ["this pod is a spare: 2 take part"]
        g.places.insert(1, leaver)
        g.api.put(g._pod(1, leaver.name, leaver.address)) if g.api else None
        g.again(1)
        await_step(g, 4, count=len(told(g, "step", of=4)) // 4 + 3)
        end_well(g)
        assert [(width, cost) for width, _, cost in made(g)] == [(4, 0), (2, 0), (4, 0)]


def test_widths_that_differ_between_pods_are_refused_before_anything_starts(tmp_path: Path) -> None:
    with trains(tmp_path, 3, "1:3", of={1: {"LAUNCHER_MEMBERS": "2:3"}}) as g:
        g.start()
        code, said = g.verdict()
        assert code == 78
        first, second = (f"node {place} ({g.address(place)}, pod-{place})" for place in (0, 1))
        assert said == f"LAUNCHER_MEMBERS is 1:3 on {first} and 2:3 on {second}: set the same on every pod"
        assert not told(g, "start")
