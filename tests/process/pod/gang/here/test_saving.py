"""A pass saved by a gang of one: complete or absent, wherever the program is killed, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from launcher import here
from launcher.contract import pass_directory
from launcher.pod.gang.store.passes import complete
from tests.support.keeping import JOB, killed_at, output_in
from tests.support.mounts import mounted

pytestmark = pytest.mark.timeout(60)
UNSET = (
    "LAUNCHER_HERE",
    "LAUNCHER_START_PASS",
    "LAUNCHER_RESUME_DIR",
    "LAUNCHER_KEEP_PASSES",
    "TRAINER_ID",
    "TRAINERS",
)
FILES = {"model": "whole", "state": ""}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let each test be a process of its own, without a launcher, whose job has this directory."""
    for name in UNSET:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JOB_PATH", str(tmp_path))
    monkeypatch.setenv("JOB_NAME", JOB)
    monkeypatch.setattr(here, "_KEPT", {})


def output(top: Path) -> Path:
    return top / JOB / "output"


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def done(top: Path, number: int) -> Any:  # noqa: ANN401  # as json.loads
    return json.loads((output(top) / pass_directory(number) / "done").read_text())


def save(number: int, files: Mapping[str, str], position: object = None) -> None:
    with here.saving(number, position=position) as directory:
        assert directory
        save_in(directory, files)


def save_in(directory: str, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        (Path(directory) / name).write_text(content)


def start_after(monkeypatch: pytest.MonkeyPatch, top: Path, number: int) -> None:
    """Begin anew, as a launcher does after this pass, or after none."""
    here._KEPT.clear()
    monkeypatch.setenv("LAUNCHER_START_PASS", str(number + 1))
    monkeypatch.setenv("LAUNCHER_RESUME_DIR", str(output(top) / pass_directory(number)) if number >= 0 else "")


def test_a_pass_has_its_files_with_their_sizes_its_position_and_who_saved_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAUNCHER_RUNTIME", "torch")
    with here.saving(3, position=["a", 7]) as directory:
        assert directory
        (Path(directory) / "below").mkdir()
        save_in(directory, {"model": "12345", "below/.state": ""})
    told = done(tmp_path, 3)
    assert len(told.pop("run")) == 16
    facts = {"pass": 3, "position": ["a", 7], "runtime": "torch", "trainers": 1}
    assert told == {**facts, "files": {"model": 5, "below/.state": 0}}
    assert complete(output_in(tmp_path)) == (3,)


@pytest.mark.parametrize("keep", ["all", "1"])
def test_killed_at_any_step_it_leaves_the_whole_pass_or_none_and_the_next_try_works_over_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: str
) -> None:
    """The step at which it is killed moves from the first one until it is not killed any more."""
    monkeypatch.setenv("LAUNCHER_KEEP_PASSES", keep)
    seen = set()
    newest = step = 0
    save(newest, FILES)
    while True:
        start_after(monkeypatch, tmp_path, newest)
        killed = killed_at(step, partial(save, newest + 1, FILES))
        passes = complete(output_in(tmp_path))
        seen.add(len(passes))
        if passes[-1] == newest:  # the next try
            save(newest + 1, FILES)
            passes = complete(output_in(tmp_path))
            assert not list(output(tmp_path).glob(".*"))
        assert passes[-1] == newest + 1
        newest, step = newest + 1, step + 1
        if not killed:
            break
    assert step > 4
    if keep == "1":
        assert seen == {1, 2}
        assert names(output(tmp_path)) == [pass_directory(newest)]


def test_killed_while_a_pass_that_stood_there_makes_way_either_is_whole_or_none(tmp_path: Path) -> None:
    """The old one is v1's, which says nothing of its files: some of them would pass for all."""
    old = {"a": "1", "b": "2", "c": "3", "done": ""}
    at = output(tmp_path) / "pass-00000"
    killed, seen = True, set()
    step = 0
    while killed:
        shutil.rmtree(at, ignore_errors=True)
        at.mkdir(parents=True)
        save_in(str(at), old)
        here._KEPT.clear()
        killed = killed_at(step, partial(save, 0, FILES))
        seen.add(" ".join(names(at)) if complete(output_in(tmp_path)) else "none")
        step += 1
    assert seen == {"a b c done", "none", "done model state"}


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
    start_after(monkeypatch, tmp_path, 1)
    save(2, {"model": "1"})
    start_after(monkeypatch, tmp_path, -1)
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


def test_the_newest_complete_passes_of_this_run_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAUNCHER_KEEP_PASSES", "2")
    for number in (0, 1, 2, 4):
        save(number, FILES)
    assert complete(output_in(tmp_path)) == (2, 4)
    start_after(monkeypatch, tmp_path, 4)
    save(5, FILES)
    assert names(output(tmp_path)) == ["pass-00004", "pass-00005"]


def test_a_torn_pass_counts_for_none_of_those_that_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        save(number, FILES)
    (output(tmp_path) / "pass-00002" / "model").write_text("torn")
    monkeypatch.setenv("LAUNCHER_KEEP_PASSES", "2")
    save(3, FILES)
    assert names(output(tmp_path)) == ["pass-00001", "pass-00002", "pass-00003"]
    assert complete(output_in(tmp_path)) == (1, 3)
    save(4, FILES)
    assert complete(output_in(tmp_path)) == (3, 4)


def test_what_is_not_an_older_pass_of_this_run_is_never_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(0, FILES)  # another run's
    start_after(monkeypatch, tmp_path, -1)
    for number in (3, 9):
        save(number, FILES)
    start_after(monkeypatch, tmp_path, 3)  # not every node saw the newer one
    at = output(tmp_path)
    for name in ("pass-00001", "pass-1", "pass-000003", "pass-00003.bak", "node_0", "pass-x"):
        (at / name).mkdir()
        (at / name / "done").write_text((at / "pass-00003" / "done").read_text())
    (at / "pass-00001" / "done").write_text("")
    (at / "pass-00002").write_text("a file")
    (at / "pass-00003").rename(tmp_path / "elsewhere")
    (at / "pass-00003").symlink_to(tmp_path / "elsewhere")
    before = names(at)
    monkeypatch.setenv("LAUNCHER_KEEP_PASSES", "1")
    save(4, FILES)
    assert names(at) == sorted([*before, "pass-00004"])
    assert names(tmp_path / "elsewhere") == ["done", "model", "state"]


def test_a_pass_that_cannot_be_removed_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAUNCHER_KEEP_PASSES", "1")
    save(0, FILES)
    held = output(tmp_path) / "pass-00000"
    with mounted("", str(held), held, "bind"):
        for number in (1, 2, 3):
            save(number, FILES)
            assert complete(output_in(tmp_path)) == (0, number)
    save(4, FILES)
    assert complete(output_in(tmp_path)) == (4,)


def test_the_pass_that_was_gone_on_from_may_be_removed_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_after(monkeypatch, tmp_path, 0)
    save(1, FILES)
    assert complete(output_in(tmp_path)) == (1,)


@pytest.mark.parametrize("said", ["0", "-1", "many", "1.5"])
def test_a_number_of_passes_that_is_none_is_refused_before_one_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("LAUNCHER_KEEP_PASSES", said)
    with pytest.raises(
        here.Misuse, match=f"LAUNCHER_KEEP_PASSES='{said}': expected a whole number from 1 on, or all"
    ):
        save(0, FILES)
    assert complete(output_in(tmp_path)) == ()
