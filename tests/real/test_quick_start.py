"""The quick start on real Paddle: its scripts from data to passes, each of its networks, and how it fails."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.bridge import passes

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "quick_start"
CONSTANT = 0.5  # the error of who always says the same: there are as many reviews for as against
TESTED = re.compile(r" Test samples=(\d+) .*classification_error_evaluator=(\S+)")

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """Return a copy of the example, as an image has it; without data."""
    left_out = shutil.ignore_patterns("prepared", "*.gz", "__pycache__", "output", "train.log")
    return Path(shutil.copytree(EXAMPLE, tmp_path / "quick_start", ignore=left_out))


def train(python: Path, demo: Path, *flags: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run train.sh with this repository's `paddle` before the wheel's own, which cannot train."""
    path = f"{ROOT / 'launcher' / 'bridge' / 'bin'}:{python.parent}:{os.environ['PATH']}"
    words = (str(demo / "train.sh"), *flags)
    env = {**os.environ, "PATH": path, **environ}
    done = subprocess.run(words, cwd="/", env=env, capture_output=True, text=True, check=False)
    assert (demo / "train.log").read_text() == done.stdout
    return done


def prepare(demo: Path, reviews: int | None = None) -> None:
    """Make the data: what get_data.sh makes, or fewer reviews."""
    if reviews is None:
        subprocess.run((demo / "data" / "get_data.sh",), check=True, capture_output=True)
    else:
        file = demo / "data" / "reviews_Electronics_5.json.gz"
        made = (sys.executable, demo / "make_reviews.py", file, f"--reviews={reviews}")
        subprocess.run(made, check=True, capture_output=True)
    subprocess.run((demo / "preprocess.sh",), check=True, capture_output=True)


def test_from_nothing_to_passes_by_the_articles_scripts(paddle_python: Path, demo: Path) -> None:
    prepare(demo)
    done = train(paddle_python, demo, "--num_passes=3")
    assert done.returncode == 0, done.stdout
    tests = TESTED.findall(done.stdout)
    assert len(tests) == 3
    assert float(tests[-1][1]) < CONSTANT - 0.1  # three passes come to 0.34
    assert sorted(path.name for path in (demo / "output").iterdir()) == ["pass-00000", "pass-00001", "pass-00002"]
    assert passes.read_pass(demo / "output" / "pass-00002")["pass"] == 2


def test_each_network_learns_with_all_of_its_weights_and_does_not_see_what_is_after_the_last_word(
    paddle_python: Path, demo: Path
) -> None:
    prepare(demo, reviews=600)
    words = (str(paddle_python), "-m", "tests.real.quick_start_networks", str(demo))
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found) == ["lr", "emb", "cnn", "lstm", "bidi-lstm", "db-lstm"]
    for name, told in found.items():
        assert told["longer"] == pytest.approx(told["before"], rel=1e-4), name
        assert (told["still"], told["weights"] > 0) == ([], True), name
        assert math.fsum(told["after"]) < math.fsum(told["before"]), name


def test_a_cost_that_is_no_number_ends_with_65_and_says_where(paddle_python: Path, demo: Path) -> None:
    prepare(demo, reviews=500)
    text = (demo / "trainer_config.lr.py").read_text()
    (demo / "trainer_config.wild.py").write_text(text.replace("learning_rate = 2e-3", "learning_rate = 1e38"))
    done = train(paddle_python, demo, cfg="trainer_config.wild.py")
    assert done.returncode == 65, done.stdout
    assert re.search(r"the cost is (nan|inf) in pass \d+, batch \d+", done.stdout.splitlines()[-1])


def test_without_data_it_says_which_scripts_make_it(paddle_python: Path, demo: Path) -> None:
    done = train(paddle_python, demo)
    assert done.returncode == 65
    assert "data/get_data.sh and then preprocess.sh make it" in done.stdout.splitlines()[-1]
    assert not (demo / "output").exists()
