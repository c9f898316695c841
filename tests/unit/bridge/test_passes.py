"""What the bridge's engine decides without Paddle: places, passes, part files, and how a program ends."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from launcher import here
from launcher.bridge import failure, parts, passes
from launcher.bridge.failure import TrainingFailure
from launcher.bridge.fleet_role import SERVERS, FleetRole, fleet_role
from launcher.pod.gang.store.passes import complete
from launcher.pod.gang.store.record import on_volume

GANG = {
    SERVERS: "10.0.0.1:7164,10.0.0.2:7164",
    "PADDLE_TRAINERS_NUM": "3",
    "TRAINING_ROLE": "TRAINER",
    "PADDLE_TRAINER_ID": "2",
    "POD_IP": "10.0.0.2",
    "PADDLE_PORT": "7164",
}


def test_a_trainer_and_a_pserver_know_their_places() -> None:
    pservers = ("10.0.0.1:7164", "10.0.0.2:7164")
    assert fleet_role(GANG) == FleetRole(serves=False, rank=2, trainers=3, pservers=pservers)
    serving = fleet_role({**GANG, "TRAINING_ROLE": "PSERVER"})
    assert serving == FleetRole(serves=True, rank=1, trainers=3, pservers=pservers)
    assert [place.leads for place in (fleet_role(GANG), serving, FleetRole(rank=0, pservers=pservers))] == [0, 0, 1]


def test_paddle_is_told_its_place_letter_for_letter_and_never_to_use_gloo() -> None:
    told = fleet_role({**GANG, "TRAINING_ROLE": "PSERVER"}).environment()
    assert f"{told['POD_IP']}:{told['PADDLE_PORT']}" in told[SERVERS].split(",")
    assert (told["TRAINING_ROLE"], told["PADDLE_TRAINERS_NUM"], told["PADDLE_WITH_GLOO"]) == ("PSERVER", "3", "0")
    assert fleet_role(told).serves


def test_without_any_word_a_program_trains_alone() -> None:
    assert fleet_role({}) == FleetRole()
    assert fleet_role({"TRAINERS": "1", "TRAINER_ID": "0"}).alone


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({SERVERS: ""}, f"{SERVERS} is not set, but this is one process of several"),
        ({"TRAINING_ROLE": "trainer"}, "TRAINING_ROLE is 'trainer': expected PSERVER or TRAINER"),
        ({"PADDLE_TRAINER_ID": "3"}, "PADDLE_TRAINER_ID is 3: expected 0 to 2"),
        ({"PADDLE_TRAINER_ID": "-1"}, "PADDLE_TRAINER_ID is '-1': expected a whole number"),
        ({"PADDLE_TRAINERS_NUM": "x"}, "PADDLE_TRAINERS_NUM is 'x': expected a whole number"),
        ({SERVERS: "[fd00::1]:7164"}, r"'\[fd00::1\]:7164': expected address:port; Paddle 2.6.2 knows no IPv6"),
        ({"TRAINING_ROLE": "PSERVER", "PADDLE_PORT": "1"}, "POD_IP:PADDLE_PORT is 10.0.0.2:1: expected one of"),
    ],
)
def test_a_place_that_cannot_be_is_refused(change: dict[str, str], told: str) -> None:
    with pytest.raises(TrainingFailure, match=told) as caught:
        fleet_role({**GANG, "TRAINERS": "3", **change})
    assert caught.value.code == 78


def test_a_pass_has_its_name_only_once_it_is_whole(tmp_path: Path) -> None:
    seen: list[str] = []

    def fill(directory: Path) -> dict[str, Any]:
        (directory / "000").mkdir()
        (directory / "000" / "part-000").write_text("12")
        seen.extend(path.name for path in tmp_path.iterdir())
        return {"pservers": 1}

    directory = passes.write_pass(tmp_path, 3, fill)
    assert directory == tmp_path / "pass-00003"
    assert seen
    assert all(name.startswith(passes.SAVING) for name in seen)
    assert json.loads((directory / "done").read_text()) == {"pass": 3, "pservers": 1, "files": {"000/part-000": 2}}
    assert passes.read_pass(directory)["pservers"] == 1
    assert complete(on_volume(PurePosixPath(tmp_path))) == (3,)


def test_a_save_that_fails_leaves_no_pass_and_the_next_one_clears_up(tmp_path: Path) -> None:
    def fails(directory: Path) -> dict[str, Any]:
        (directory / "half").touch()
        raise TrainingFailure(failure.STORAGE, "the volume is full")

    with pytest.raises(TrainingFailure, match="full"):
        passes.write_pass(tmp_path, 3, fails)
    assert not list(tmp_path.glob("pass-*"))
    for content in ("first", "second"):
        passes.write_pass(tmp_path, 3, partial(_holds, content))
    assert [path.name for path in tmp_path.iterdir()] == ["pass-00003"]
    assert (tmp_path / "pass-00003" / "a").read_text() == "second"


def _holds(content: str, directory: Path) -> dict[str, Any]:
    (directory / "a").write_text(content)
    return {}


@pytest.mark.parametrize("tear", ["shorter", "missing", "undone", "empty", "other"])
def test_a_torn_pass_is_refused(tmp_path: Path, tear: str) -> None:
    directory = passes.write_pass(tmp_path, 0, partial(_holds, "whole"))
    if tear == "shorter":
        (directory / "a").write_text("who")
    elif tear == "missing":
        (directory / "a").unlink()
    elif tear == "undone":
        (directory / "done").unlink()
    else:
        (directory / "done").write_text("" if tear == "empty" else '{"files": 7}')
    with pytest.raises(TrainingFailure) as caught:
        passes.read_pass(directory)
    assert caught.value.code == 65
    assert str(directory) in str(caught.value)


def test_files_of_a_save_are_counted_and_none_may_be_empty(tmp_path: Path) -> None:
    expected = {"000": 2, "001": 1}
    for name in ("000/part-000", "000/part-001", "001/part-000"):
        assert passes.lacking_parts(tmp_path, expected)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    assert not passes.lacking_parts(tmp_path, expected)
    (tmp_path / "000" / "part-001").write_text("")
    assert passes.lacking_parts(tmp_path, expected) == ["000 has 1 of 2 files"]
    with pytest.raises(
        TrainingFailure, match=r"000 has 1 of 2 files, 0.1 s after .* mounts the same volume"
    ) as caught:
        passes.await_files(tmp_path, expected, patience=0.1)
    assert caught.value.code == 74


def test_a_pass_of_another_network_is_refused(tmp_path: Path) -> None:
    facts = {"shards": 12, "tables": {"000": {"sparse": "movies"}}}
    passes.check_same(tmp_path, facts, facts)
    with pytest.raises(TrainingFailure, match=r"was made with tables .* and the same network") as caught:
        passes.check_same(tmp_path, facts, {"shards": 12, "tables": {}})
    assert caught.value.code == 78


@pytest.mark.parametrize(
    ("made", "numbers", "able"),
    [
        (1, 3137, (1, 2, 3, 4, 6, 12)),
        (3, 3137, (1, 2, 3, 4, 6, 12)),
        (5, 3137, (5, 15)),
        (7, 3137, (7, 14)),
        (24, 3137, (24,)),
        (3, 9, (3,)),  # 4, 4 and 1
        (2, 9, (1, 2, 4)),  # 5 and 4; 6 would have 2, 2, 2, 2, 1 and 0
    ],
)
def test_who_can_read_a_pass(tmp_path: Path, made: int, numbers: int, able: tuple[int, ...]) -> None:
    facts = {
        "pservers": made,
        "shards": parts.shards(made),
        "tables": {"000": {"sparse": "movies", "rows": 9, "dim": 4}, "001": {"dense": [["w", [numbers]]]}},
    }
    assert parts.readers(facts) == able
    for count in range(1, 30):
        if count in able:
            parts.check_readers(tmp_path, facts, count)
        else:
            with pytest.raises(TrainingFailure, match=f"with pservers {made}, this gang has {count}: expected"):
                parts.check_readers(tmp_path, facts, count)


def test_a_pass_without_pservers_is_read_by_none(tmp_path: Path) -> None:
    with pytest.raises(TrainingFailure, match="with pservers 0, this gang has 2: expected none") as caught:
        parts.check_readers(tmp_path, {"pservers": 0}, 2)
    assert caught.value.code == 78


@pytest.mark.parametrize("name", ["a b", "a;b", "a$(b)", "a'b", "ä", "a\nb", "a*"])
def test_a_name_that_bash_would_read_is_refused(name: str) -> None:
    with pytest.raises(TrainingFailure, match="Paddle passes this name to bash") as caught:
        passes.safe(f"/output/{name}")
    assert caught.value.code == 78


def test_other_names_are_made_absolute() -> None:
    assert passes.safe("some/output_1.x") == Path.cwd() / "some/output_1.x"


def test_part_files_are_read_back(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "part-000-00000.gz", "wt") as file:
        file.write("48 0 0 25.8 258 0 -0.5 1 2 3 4 0.25 -0.75 9 9 9 9 9 9\n7 0 0 1 1 0 0.5 1 2 3 4 1.25 1e-05 9 9\n")
    assert dict(parts.vectors(tmp_path, 3)) == {48: [-0.5, 0.25, -0.75], 7: [0.5, 1.25, 1e-05]}
    with pytest.raises(TrainingFailure, match=r"part-000-00000.gz:2: 15 numbers: expected those of a vector of 8"):
        dict(parts.vectors(tmp_path, 8))
    assert parts.dense(tmp_path) == [48.0, 7.0]


@pytest.mark.parametrize("tear", ["not gzip", "cut short", "another sum"])
def test_a_part_that_cannot_be_read_is_told_though_its_size_is_right(tmp_path: Path, tear: str) -> None:
    part = tmp_path / "000" / "part-000-00000.gz"
    part.parent.mkdir()
    whole = gzip.compress(b"48 0 0 25.8 258 0 -0.5 1 2 3 4\n")
    part.write_bytes(whole)
    parts.check_parts(tmp_path)
    torn = {"not gzip": b"?" * len(whole), "cut short": whole[:-9], "another sum": whole[:-8] + bytes(8)}
    part.write_bytes(torn[tear])
    for reads in (partial(parts.check_parts, tmp_path), partial(parts.dense, part.parent)):
        with pytest.raises(TrainingFailure, match=f"{part} cannot be read") as caught:
            reads()
        assert caught.value.code == 65


@pytest.mark.parametrize("code", [0, 65])
def test_a_program_that_failed_leaves_at_once_with_all_that_it_said(code: int) -> None:
    """Another one clears up: the crash stands for that of Paddle's threads."""
    script = f"""
import atexit, os
from launcher.bridge import failure
atexit.register(os._exit, 139)
print("said")
failure.leave({code})
"""
    ended = subprocess.run((sys.executable, "-c", script), capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (code or 139, "said\n")


def test_how_a_program_ends(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(error: Exception) -> int:
        def program() -> None:
            raise error

        return failure.code_of(program)

    assert failure.code_of(lambda: None) == 0
    assert fails(TrainingFailure(65, "the cost is nan")) == 65
    assert fails(here.GenerationEnded("the launcher is gone")) == failure.GENERATION_ENDED
    assert capsys.readouterr().err == "the cost is nan\nthe launcher is gone\n"
    with pytest.raises(RuntimeError):
        fails(RuntimeError("a bug has its traceback"))
