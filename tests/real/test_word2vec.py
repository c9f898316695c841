"""The seed's word2vec: the file that submits is the one that trains."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.real.recommendation import ENVIRONMENT, child_codes, complete
from tests.support.gangs import Gang, gang

pytestmark = pytest.mark.timeout(200)

EXAMPLE = Path(__file__).parents[2] / "examples" / "word2vec"
PASS = re.compile(r"^ Pass=(\d+) AvgCost=(\S+)", re.MULTILINE)
MARGIN = 0.5  # of the cost, below that of who knows how frequent each word is, which is 5.42


def test_two_nodes_learn_which_word_follows(paddle_python: Path, tmp_path: Path) -> None:
    """The job's files come from a directory of the image, the data is read where it is, each trainer its lines."""
    prepare(tmp_path / "data")
    command = (str(paddle_python), "train.py", f"--data={tmp_path / 'data'}", "--passes=4")
    environ = {**ENVIRONMENT, "TRAIN_CONFIG_DIR": str(EXAMPLE), "LAUNCHER_LOG_PREFIX": "off"}
    with gang(2, tmp_path, command=command, env=environ) as g:
        assert g.codes(timeout=150) == [0, 0]
        assert child_codes(g) == [(f"{role} {rank}", 0) for role in ("pserver", "trainer") for rank in range(2)]
        assert complete(g) == (0, 1, 2, 3)
        assert sum(lines(g, rank) for rank in range(2)) == len((tmp_path / "data/train.txt").read_text().splitlines())
        found = costs(g)
        assert sorted(found) == [0, 1, 2, 3]
        assert found[3] < by_frequency(tmp_path / "data" / "train.txt") - MARGIN


def test_outside_a_job_it_submits_or_says_what_is_missing(paddle_python: Path, tmp_path: Path) -> None:
    told = submit(str(paddle_python), tmp_path)
    assert told.returncode == 1
    assert "submit: this Python has no package kubernetes; expected" in told.stderr
    told = submit(sys.executable, tmp_path)
    assert told.returncode == 1
    assert "Traceback" not in told.stderr
    assert len(told.stderr.splitlines()) == 1


def submit(python: str, top: Path) -> subprocess.CompletedProcess[str]:
    """Run train.py by itself, where no cluster is known of."""
    environ = {**os.environ, "HOME": str(top), "KUBECONFIG": str(top / "none")}
    return subprocess.run(
        (python, EXAMPLE / "train.py"), cwd=top, capture_output=True, text=True, check=False, env=environ
    )


def prepare(directory: Path) -> None:
    """Make a text up, and the lines from it."""
    words = (sys.executable, EXAMPLE / "prepare.py", directory, "--lines=1600")
    subprocess.run(words, check=True, capture_output=True)


def lines(g: Gang, rank: int) -> int:
    """Return how many lines a trainer said that it has."""
    (found,) = re.findall(rf"^trainer {rank} of 2: (\d+) lines$", log(g, rank), re.MULTILINE)
    return int(found)


def costs(g: Gang) -> dict[int, float]:
    """Return the mean cost by pass, as trainer 0 told it."""
    return {int(number): float(cost) for number, cost in PASS.findall(log(g, 0))}


def log(g: Gang, rank: int) -> str:
    return (g.output / f"node_{rank}" / "train.log").read_text()


def by_frequency(path: Path) -> float:
    """Return the cost of who guesses each word by its frequency alone."""
    last = Counter(line.rpartition(",")[2] for line in path.read_text().splitlines())
    every = sum(last.values())
    return -sum(count / every * math.log(count / every) for count in last.values())
