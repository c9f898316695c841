"""A pass saved by a gang of one: complete or absent, wherever the program is killed, and what is refused."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from launcher import here
from launcher.contract import pass_directory
from launcher.pod.gang.store.passes import complete
from tests.support.keeping import JOB, output_in

pytestmark = pytest.mark.timeout(60)
ROOT = Path(__file__).parents[5]
# Killed at a step: before it makes, opens, lists, renames or removes something.
SAVES = f"""
import os, signal, sys
sys.path.insert(0, {str(ROOT)!r})
from launcher import here
import shutil

steps = int(sys.argv[1])

def step(event, arguments):
    global steps
    if event.startswith(("os.mkdir", "os.rename", "os.rmdir", "os.remove", "os.scandir", "os.listdir")) or (
        event == "open" and "output" in str(arguments[0])
    ):
        steps -= 1
        if steps < 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(step)
with here.saving(int(sys.argv[2]), position=[sys.argv[3], 7]) as directory:
    os.mkdir(directory + "/below")
    for name in ("model", "below/.state"):
        with open(os.path.join(directory, name), "w") as file:
            file.write(sys.argv[3])
"""
NEVER = 10**6


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let each test be a process of its own, without a launcher, whose job has this directory."""
    for name in ("LAUNCHER_HERE", "LAUNCHER_START_PASS", "LAUNCHER_RESUME_DIR", "TRAINER_ID", "TRAINERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JOB_PATH", str(tmp_path))
    monkeypatch.setenv("JOB_NAME", JOB)
    monkeypatch.setattr(here, "_KEPT", {})


def run(number: int, content: str, *, killed_at: int = NEVER) -> int:
    words = (sys.executable, "-S", "-c", SAVES, str(killed_at), str(number), content)
    return subprocess.run(words, check=False, timeout=30).returncode


def output(top: Path) -> Path:
    return top / JOB / "output"


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def done(top: Path, number: int) -> Any:  # noqa: ANN401  # as json.loads
    return json.loads((output(top) / pass_directory(number) / "done").read_text())


def save(number: int, files: Mapping[str, str], position: object = None) -> None:
    with here.saving(number, position=position) as directory:
        assert directory
        for name, content in files.items():
            (Path(directory) / name).write_text(content)


def test_a_pass_has_its_files_with_their_sizes_its_position_and_who_saved_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAUNCHER_RUNTIME", "torch")
    assert run(3, "12345") == 0
    told = done(tmp_path, 3)
    assert len(told.pop("run")) == 16
    facts = {"pass": 3, "position": ["12345", 7], "runtime": "torch", "trainers": 1}
    assert told == {**facts, "files": {"model": 5, "below/.state": 5}}
    assert complete(output_in(tmp_path)) == (3,)


def test_killed_at_any_step_it_leaves_the_whole_pass_or_none_and_the_next_try_works_over_it(tmp_path: Path) -> None:
    """The step at which it is killed moves from the first one until it is not killed any more."""
    run(0, "a pass before it")
    step = 0
    seen = set()
    while (code := run(1, "whole", killed_at=step)) == -signal.SIGKILL:
        passes = complete(output_in(tmp_path))
        assert passes in ((0,), (0, 1))
        if passes == (0, 1):
            assert (output(tmp_path) / "pass-00001" / "model").read_text() in ("whole", "whole again")
        seen.add(passes)
        if step % 3 == 0:
            assert run(1, "whole again") == 0
            assert complete(output_in(tmp_path)) == (0, 1)
            assert names(output(tmp_path)) == ["pass-00000", "pass-00001"]
        step += 1
    assert code == 0
    assert step > 10
    assert seen == {(0,), (0, 1)}
    assert names(output(tmp_path)) == ["pass-00000", "pass-00001"]


def test_without_a_job_it_is_below_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOB_PATH")
    monkeypatch.chdir(tmp_path)
    save(0, {"model": "1"})
    assert (tmp_path / "output" / "pass-00000" / "done").exists()


def test_a_program_that_counts_itself_as_another_rank_is_a_gang_of_one_without_a_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINER_ID", "2")
    monkeypatch.setenv("TRAINERS", "3")
    save(0, {"model": "1"})
    assert complete(output_in(tmp_path)) == (0,)


def test_the_position_is_read_where_training_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert here.position() is None
    save(0, {"model": "1"}, position={"epoch": 2, "records": 4096})
    monkeypatch.setenv("LAUNCHER_RESUME_DIR", str(output(tmp_path) / "pass-00000"))
    assert here.position() == {"epoch": 2, "records": 4096}


@pytest.mark.parametrize("said", ["", "[]", '{"files": {"model": 1}}', "[" * 100_000])
def test_a_pass_of_another_program_has_no_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    (tmp_path / "done").write_text(said)
    monkeypatch.setenv("LAUNCHER_RESUME_DIR", str(tmp_path))
    assert here.position() is None


def test_passes_of_one_training_have_one_run_also_after_it_went_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(0, {"model": "1"})
    save(1, {"model": "1"})
    monkeypatch.setenv("LAUNCHER_RESUME_DIR", str(output(tmp_path) / "pass-00001"))
    monkeypatch.setenv("LAUNCHER_START_PASS", "2")
    here._KEPT.clear()
    save(2, {"model": "1"})
    monkeypatch.delenv("LAUNCHER_RESUME_DIR")
    here._KEPT.clear()
    save(3, {"model": "1"})
    runs = [done(tmp_path, number)["run"] for number in range(4)]
    assert runs[0] == runs[1] == runs[2] != runs[3]


def test_a_pass_that_stood_there_before_this_start_is_replaced(tmp_path: Path) -> None:
    save(0, {"model": "old", "more": "old"})
    here._KEPT.clear()
    save(0, {"model": "new"})
    assert done(tmp_path, 0)["files"] == {"model": 3}
    assert names(output(tmp_path) / "pass-00000") == ["done", "model"]


def test_an_exception_in_the_block_comes_out_and_leaves_no_pass(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        save(0, {"model": "half", ".": "cannot be written"})
    assert complete(output_in(tmp_path)) == ()
    save(0, {"model": "whole"})
    assert complete(output_in(tmp_path)) == (0,)
    assert names(output(tmp_path)) == ["pass-00000"]


def test_a_link_is_no_file_of_a_pass(tmp_path: Path) -> None:
    with here.saving(0) as directory:
        assert directory
        (Path(directory) / "model").write_text("1")
        (Path(directory) / "latest").symlink_to("model")
        (Path(directory) / "around").symlink_to(".")
    assert done(tmp_path, 0)["files"] == {"model": 1}
    assert complete(output_in(tmp_path)) == (0,)


NOT_A_NUMBER = "expected a whole number from {} on: passes below it are complete already"


@pytest.mark.parametrize(
    ("number", "by", "said"),
    [
        (-1, 0, "saving(-1, by=0): " + NOT_A_NUMBER.format(2)),
        (1, 0, "saving(1, by=0): " + NOT_A_NUMBER.format(2)),
        ("2", 0, "saving('2', by=0): " + NOT_A_NUMBER.format(2)),
        (2.0, 0, "saving(2.0, by=0): " + NOT_A_NUMBER.format(2)),
        (2, 1, "saving(2, by=1): expected by='all' or a rank, 0 to 0"),
        (2, -1, "saving(2, by=-1): expected by='all' or a rank, 0 to 0"),
        (2, "each", "saving(2, by='each'): expected by='all' or a rank, 0 to 0"),
        (2, None, "saving(2, by=None): expected by='all' or a rank, 0 to 0"),
    ],
)
def test_a_wrong_call_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
    number: Any,  # noqa: ANN401  # what a program might pass
    by: Any,  # noqa: ANN401
    said: str,
) -> None:
    monkeypatch.setenv("LAUNCHER_START_PASS", "2")
    with pytest.raises(here.Misuse) as refused, here.saving(number, by=by):
        pass
    assert str(refused.value) == said


def test_a_pass_is_saved_once() -> None:
    save(4, {"model": "1"})
    with pytest.raises(here.Misuse, match=r"saving\(4, by=0\): expected a whole number from 5 on"):
        save(4, {"model": "1"})


def test_a_saving_within_another_is_refused_and_spoils_the_outer_one(tmp_path: Path) -> None:
    said = r"saving\(1, by=0\) within another: expected one after the other"
    with pytest.raises(here.Misuse, match=said), here.saving(0), here.saving(1):
        pass
    assert complete(output_in(tmp_path)) == ()
    save(0, {"model": "1"})


@pytest.mark.parametrize(
    ("files", "position", "said"),
    [(0, None, "has 0 files, with"), (1, "x" * (1 << 20), "has 1 files, with 1048[0-9]{3} bytes in done: expected")],
    ids=["no file", "too much"],
)
def test_a_pass_that_no_launcher_would_take_for_complete_is_refused(
    tmp_path: Path, files: int, position: object, said: str
) -> None:
    with pytest.raises(here.Misuse, match=said):
        save(0, dict.fromkeys(map(str, range(files)), ""), position)
    assert complete(output_in(tmp_path)) == ()


@pytest.mark.parametrize("position", [b"bytes", {1, 2}, object()])
def test_a_position_is_what_json_can_hold(position: object) -> None:
    with pytest.raises(here.Misuse, match=r"saving\(0, by=0\): expected a value that JSON can hold"):
        save(0, {"model": "1"}, position)


@pytest.mark.parametrize("leave", [SystemExit, KeyboardInterrupt])
def test_a_program_that_leaves_in_the_block_leaves_at_once(tmp_path: Path, leave: type[BaseException]) -> None:
    with pytest.raises(leave), here.saving(0):
        raise leave
    assert complete(output_in(tmp_path)) == ()
