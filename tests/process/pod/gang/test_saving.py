"""Passes that real launchers' trainers save together: one killed in it, one that fails in it, and wrong calls."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from launcher.contract import pass_directory
from tests.support.gangs import Gang, gang

pytestmark = pytest.mark.timeout(60)
PASSES = 3
PRELUDE = f"""
import os, signal, sys
import sitecustomize
sys.path.insert(0, {str(Path(__file__).parents[4])!r})
from launcher import here

def once():
    try:
        os.close(os.open("once", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def write(directory, number):
    for name in (f"{{here.rank()}}.part", ".state"):
        if directory and (name != ".state" or here.rank() == 0):
            with open(os.path.join(directory, name), "w") as file:
                file.write("x" * (number + 1))

start, resumed = here.resume()
print("from", start, here.position(), flush=True)
"""
TRAINS = f"""
for number in range(start, {PASSES}):
    with here.saving(number, by, position=10 * number) as directory:
        write(directory, number)
        if number == 1 and here.rank() == victim and place == "block" and once():
            die()
    print("saved", number, flush=True)
"""
# Killed at a system call: where rank 0 opens `done`, where it is written and not safe, where the pass is renamed.
AROUND = """
def audit(event, arguments):
    if event == "open" and str(arguments[0]).endswith("/done") and arguments[1] == "w" and place == "open":
        kill_in_pass_1(arguments[0])
    if event == "os.rename" and place == "rename":
        kill_in_pass_1(arguments[0])

def kill_in_pass_1(path):
    if "pass-00001" in str(path) and once():
        die()

def fsync(descriptor, real=os.fsync):
    if place == "fsync":
        kill_in_pass_1(os.readlink(f"/proc/self/fd/{descriptor}"))
    real(descriptor)

sys.addaudithook(audit)
os.fsync = fsync
"""


def three(top: Path, program: str, by: int | str = 0, **env: str) -> AbstractContextManager[Gang]:
    settings: Mapping[str, str] = {"LAUNCHER_RUNTIME": "env", "LAUNCHER_PEER_TIMEOUT": "3", **env}
    text = f"{PRELUDE}by = {by!r}\n{program}"
    return gang(3, top, command=(sys.executable, "-S", "-c", text), env=settings)


def logged(g: Gang, rank: int) -> list[str]:
    return (g.output / f"node_{rank}" / "train.log").read_text().splitlines()


def told(g: Gang, number: int) -> Any:  # noqa: ANN401  # as json.loads
    return json.loads((g.output / pass_directory(number) / "done").read_text())


@pytest.mark.parametrize(
    ("by", "place", "victim"),
    [
        (0, "block", 0),
        (0, "block", 2),
        (1, "block", 1),
        ("all", "block", 2),
        ("all", "open", 0),
        (0, "fsync", 0),
        (0, "rename", 0),
    ],
)
def test_a_trainer_killed_while_a_pass_is_saved_costs_that_pass_alone(
    tmp_path: Path, by: int | str, place: str, victim: int
) -> None:
    who = f"place, victim = {place!r}, {victim}\n"
    with three(tmp_path, who + AROUND + TRAINS, by) as g:
        assert g.verdict()[0] == 0
        assert [each["resume"] for each in g.events("generation_made")] == [None, 0]
        writers = {0, 1, 2} if by == "all" else {by}
        files = {f"{rank}.part" for rank in writers} | ({".state"} if 0 in writers else set())
        for number in range(PASSES):
            assert told(g, number)["files"] == dict.fromkeys(files, number + 1)
        assert len({told(g, number)["run"] for number in range(PASSES)}) == 1
        assert [line for line in logged(g, 1) if line.startswith("from")] == ["from 0 None", "from 1 0"]
        assert not list(g.output.glob(".saving-*"))


def test_of_a_run_that_was_started_again_the_newest_passes_are_kept(tmp_path: Path) -> None:
    who = "place, victim = 'block', 2\n"
    with three(tmp_path, who + TRAINS, "all", LAUNCHER_KEEP_PASSES="1") as g:
        assert g.verdict()[0] == 0
        assert [each["resume"] for each in g.events("generation_made")] == [None, 0]
        assert [path.name for path in g.output.glob("*pass-*")] == [pass_directory(PASSES - 1)]


def test_several_trainers_of_a_pod_save_as_ranks_of_their_own(tmp_path: Path) -> None:
    who = "place, victim = 'block', 3\n"
    with three(tmp_path, who + TRAINS, "all", LAUNCHER_PROCESSES="2") as g:
        assert g.verdict()[0] == 0
        assert [each["resume"] for each in g.events("generation_made")] == [None, 0]
        last = told(g, PASSES - 1)
        assert last["files"] == dict.fromkeys([".state", *(f"{rank}.part" for rank in range(6))], PASSES)
        assert last["trainers"] == 6


def test_a_pass_of_another_framework_is_refused_before_anything_starts(tmp_path: Path) -> None:
    saves = "with here.saving(0) as directory:\n    write(directory, 0)\nsys.exit(3)"
    with three(tmp_path, saves, LAUNCHER_RUNTIME="torch", LAUNCHER_MAX_RESTARTS="0") as g:
        assert g.verdict()[0] == 3
    with gang(3, tmp_path, key="another-job", command=("true",), env={"LAUNCHER_RUNTIME": "jax"}) as g:
        code, reason = g.verdict()
        assert code == 78
        assert "pass-00000 was saved by a program of LAUNCHER_RUNTIME=torch, and this one is of jax: " in reason
        assert not g.events("generation_made")[1:]


FAILS = """
for number in range(start, 3):
    try:
        with here.saving(number, by) as directory:
            write(directory, number)
            if number == 1 and here.rank() == 1:
                raise OSError("no room")
    except (OSError, here.NotSaved) as error:
        print(type(error).__name__, error, flush=True)
"""


@pytest.mark.parametrize("by", [0, "all"])
def test_where_one_fails_in_the_block_all_fail_and_can_go_on(tmp_path: Path, by: int | str) -> None:
    with three(tmp_path, FAILS, by) as g:
        assert g.verdict()[0] == 0
        assert sorted(path.name for path in g.output.glob("*pass-*")) == ["pass-00000", "pass-00002"]
        assert logged(g, 1)[1:] == ["OSError no room"]
        assert logged(g, 0)[1:] == logged(g, 2)[1:] == ["NotSaved trainer 1: OSError: no room"]
        assert len(g.events("generation_made")) == 1


ENDS = """
with here.saving(0, by) as directory:
    write(directory, 0)
    if here.rank() == 2:
        raise ValueError("a bug")
"""


def test_an_exception_that_ends_one_program_ends_the_generation(tmp_path: Path) -> None:
    with three(tmp_path, ENDS, LAUNCHER_MAX_RESTARTS="0") as g:
        assert g.verdict()[0] == 1
        # Where another program is heard first, this one may be ended before it says so itself.
        assert any(line.endswith("ValueError: a bug") for rank in range(3) for line in logged(g, rank))
        assert not list(g.output.glob("pass-*"))


def test_what_the_first_trainer_cannot_write_fails_all(tmp_path: Path) -> None:
    no_room = """
def refuse(*arguments, **named):
    raise OSError(28, "No space left on device")

if here.rank() == 0:
    os.fsync = refuse
try:
    with here.saving(0, by) as directory:
        write(directory, 0)
except (OSError, here.NotSaved) as error:
    print(type(error).__name__, error, flush=True)
"""
    with three(tmp_path, no_room, "all") as g:
        assert g.verdict()[0] == 0
        assert logged(g, 0)[1:] == ["OSError [Errno 28] No space left on device"]
        assert logged(g, 2)[1:] == ["NotSaved trainer 0: OSError: [Errno 28] No space left on device"]
        assert not list(g.output.glob("pass-*"))


@pytest.mark.parametrize(
    ("call", "theirs", "first"),
    [
        ("here.saving(0, here.rank() and 1)", "saving(0, by=1)", "saving(0, by=0)"),
        ("here.saving(here.rank() and 1)", "saving(1, by=0)", "saving(0, by=0)"),
    ],
    ids=["another rank writes", "another pass"],
)
def test_trainers_that_save_in_different_ways_are_refused(tmp_path: Path, call: str, theirs: str, first: str) -> None:
    with three(tmp_path, f"with {call} as directory:\n    write(directory, 0)", LAUNCHER_MAX_RESTARTS="0") as g:
        assert g.verdict()[0] == 1
        said = f"{theirs}, but trainer 0 calls {first}: expected the same call on every trainer"
        ends = [logged(g, rank)[-1] for rank in range(3)]
        assert any(end == f"launcher.here.Misuse: {said}" for end in ends)
        assert not list(g.output.glob("pass-*"))


def test_a_saving_that_only_one_trainer_begins_ends_the_generation(tmp_path: Path) -> None:
    alone = "if here.rank() == 0:\n    with here.saving(0) as directory:\n        write(directory, 0)"
    with three(tmp_path, alone, LAUNCHER_MAX_RESTARTS="0") as g:
        assert g.verdict() == (76, "trainer 0 waits at 'here.saving begins (1)', and trainer 1 is done")


def test_what_the_volume_refuses_is_told_to_all_before_the_block(tmp_path: Path) -> None:
    refused = """
if here.rank() == 0:
    open(os.path.join(os.environ["JOB_PATH"], "file"), "w").close()
    os.environ["JOB_NAME"] = "file"
try:
    with here.saving(0, by) as directory:
        print("in the block", flush=True)
except (OSError, here.NotSaved) as error:
    print(type(error).__name__, flush=True)
"""
    with three(tmp_path, refused) as g:
        assert g.verdict()[0] == 0
        assert [logged(g, rank)[1:] for rank in range(3)] == [["NotADirectoryError"], ["NotSaved"], ["NotSaved"]]
