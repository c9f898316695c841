"""The stand-in for Paddle, by its own command line."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.desk.rehearsal import show

STAND_IN = Path(__file__).parents[3] / "examples" / "stand_in"


def paddle(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the stand-in as a user would."""
    return subprocess.run([STAND_IN / "paddle", *words], cwd=directory, capture_output=True, text=True, check=False)


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    """A working directory with the config and a little data."""
    subprocess.run([sys.executable, STAND_IN / "make_data.py", tmp_path, "--shards=1", "--samples=2000"], check=True)
    shutil.copytree(tmp_path / "0" / "data", tmp_path / "data")
    shutil.copy(STAND_IN / "trainer_config.py", tmp_path)
    return tmp_path


def saved(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_the_stand_in_goes_on_from_a_pass_to_the_same_result(shard: Path) -> None:
    alone = ("train", "--config=trainer_config.py", "--num_passes=4", "--local=1")
    assert paddle(shard, *alone, "--save_dir=whole").returncode == 0
    assert paddle(shard, *alone, "--num_passes=2", "--save_dir=parts").returncode == 0
    resumed = paddle(shard, *alone, "--start_pass=2", "--save_dir=parts")
    assert list(show.costs(resumed.stderr)) == [2, 3]
    assert saved(shard / "parts" / "pass-00003") == saved(shard / "whole" / "pass-00003")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["train", "--speed=11"], "unknown command line flag 'speed'"),
        (["train", "--port=http"], "illegal value 'http' for int flag 'port'"),
        (["train", "--config=none.py"], "there is no such file"),
        (["train", "--config=trainer_config.py", "--use_gpu=true"], "knows no GPU"),
        (
            ["train", "--config=trainer_config.py", "--start_pass=3", "--save_dir=out"],
            "out/pass-00002 is not a complete pass",
        ),
        (["fly"], "usage: paddle pserver"),
    ],
)
def test_the_stand_in_tells_what_it_cannot_do(shard: Path, words: list[str], sentence: str) -> None:
    ended = paddle(shard, *words)
    assert ended.returncode == 1
    assert sentence in ended.stderr


def test_the_stand_in_says_what_it_is() -> None:
    assert "stand-in" in paddle(Path.cwd(), "version").stdout
