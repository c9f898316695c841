"""The word2vec example's data: windows of words as numbers, the same at every run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from launcher.dataset import dist_reader

EXAMPLE = Path(__file__).parents[3] / "examples" / "word2vec"


def prepare(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, EXAMPLE / "prepare.py", *map(str, words)), capture_output=True, text=True, check=False
    )


def test_each_line_is_five_words_in_a_row(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("The cat's on the mat.\n\nOn, the MAT!\n")
    assert prepare(tmp_path, f"--text={text}").returncode == 0
    words = (tmp_path / "words.txt").read_text().split()
    assert words == ["<s>", "<e>", "<unk>", "the", "mat", "on", "cat's"]
    rows = [tuple(words[number] for number in row) for row in dist_reader(str(tmp_path / "train.txt"), 1, 0)()]
    assert rows == [
        ("<s>", "the", "cat's", "on", "the"),
        ("the", "cat's", "on", "the", "mat"),
        ("cat's", "on", "the", "mat", "<e>"),
        ("<s>", "on", "the", "mat", "<e>"),
    ]


def test_rare_words_are_unknown(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("".join(f"w{number} w{number} w{number}\n" for number in range(2500)) + "rare rare2 rare3\n")
    assert prepare(tmp_path, f"--text={text}").returncode == 0
    assert len((tmp_path / "words.txt").read_text().split()) == 2000
    assert (tmp_path / "train.txt").read_text().splitlines()[-1] == "0,2,2,2,1"


def test_a_made_up_text_is_the_same_for_the_same_seed_and_every_trainer_has_its_lines(tmp_path: Path) -> None:
    first, second, other = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    assert prepare(first, "--lines=50").returncode == prepare(second, "--lines=50").returncode == 0
    assert prepare(other, "--lines=50", "--seed=2").returncode == 0
    whole = (first / "train.txt").read_text()
    assert whole == (second / "train.txt").read_text() != (other / "train.txt").read_text()
    parts = [[*dist_reader(str(first / "train.txt"), 3, rank)()] for rank in range(3)]
    assert sorted(row for part in parts for row in part) == sorted(
        tuple(map(int, line.split(","))) for line in whole.splitlines()
    )


@pytest.mark.parametrize("text", ["", "...\n\n"])
def test_a_text_without_words_makes_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "text").write_text(text)
    told = prepare(tmp_path / "out", f"--text={tmp_path / 'text'}")
    assert (told.returncode, [*(tmp_path / "out").iterdir()]) == (65, [])
    assert told.stderr.startswith("prepare: the reader returned no records")


def test_a_text_that_is_not_there_is_told(tmp_path: Path) -> None:
    told = prepare(tmp_path / "out", "--text=nowhere.txt")
    assert told.returncode == 65
    assert "nowhere.txt" in told.stderr
