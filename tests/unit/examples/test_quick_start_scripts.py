"""The quick start's scripts: train.log is whole, the exit code is paddle's, and a TERM is not delayed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.lives import NAMESPACE, need_namespace

EXAMPLE = Path(__file__).parents[3] / "examples" / "quick_start"
# As process 1, as the seed's Job has it: what is left when it ends is killed.
MANY = 20_000
FAILS = f'seq {MANY}\necho "the last line" >&2\nexit 65\n'
OBEYS = "trap 'echo saved; exit 7' TERM\necho started\nwhile :; do sleep 0.05; done\n"


def laid_out(top: Path, paddle: str) -> dict[str, str]:
    """Copy the example, and put a program in paddle's place; return the environment that finds it."""
    shutil.copytree(EXAMPLE, top / "demo", ignore=shutil.ignore_patterns("prepared", "*.gz", "__pycache__"))
    (top / "bin").mkdir()
    (top / "bin" / "paddle").write_text(f"#!/bin/bash\n{paddle}")
    (top / "bin" / "paddle").chmod(0o755)
    return {**os.environ, "PATH": f"{top / 'bin'}:{os.environ['PATH']}"}


@pytest.mark.parametrize("before", [(), NAMESPACE], ids=["alone", "process 1"])
def test_the_exit_code_is_paddles_and_no_line_is_lost(tmp_path: Path, before: tuple[str, ...]) -> None:
    if before:
        need_namespace()
    env = laid_out(tmp_path, FAILS)
    words = (*before, "/bin/bash", "-c", str(tmp_path / "demo" / "train.sh"))
    done = subprocess.run(words, env=env, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 65
    assert done.stdout.splitlines() == [*map(str, range(1, MANY + 1)), "the last line"]
    assert (tmp_path / "demo" / "train.log").read_text() == done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("paddle", "code", "last"), [(OBEYS, 7, "saved"), ("echo started\nexec sleep 60\n", 143, "started")]
)
def test_told_to_stop_it_tells_paddle_at_once_and_waits_for_it(
    tmp_path: Path, number: signal.Signals, paddle: str, code: int, last: str
) -> None:
    env = laid_out(tmp_path, paddle)
    words = (str(tmp_path / "demo" / "train.sh"),)
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "started\n"
        running.send_signal(number)
        assert running.wait(timeout=30) == code  # 60 s where the shell swallows it
    assert (tmp_path / "demo" / "train.log").read_text().splitlines()[-1] == last


def test_paddle_is_asked_as_the_article_has_it_and_another_config_may_be_chosen(tmp_path: Path) -> None:
    env = laid_out(tmp_path, 'echo "$PWD"\nprintf "%s\\n" "$@"\n')
    asked = {"trainer_config.lr.py": env, "trainer_config.lstm.py": {**env, "cfg": "trainer_config.lstm.py"}}
    for config, environ in asked.items():
        words = (str(tmp_path / "demo" / "train.sh"), "--num_passes=3")
        told = subprocess.run(words, env=environ, capture_output=True, text=True, check=True).stdout.split()
        assert told == [
            str(tmp_path / "demo"),
            "train",
            f"--config={config}",
            "--save_dir=./output",
            "--trainer_count=4",
            "--log_period=20",
            "--num_passes=15",
            "--use_gpu=false",
            "--show_parameter_stats_period=100",
            "--test_all_data_in_one_period=1",
            "--num_passes=3",
        ]


def test_data_is_made_up_once_or_taken_from_a_file(tmp_path: Path) -> None:
    laid_out(tmp_path, "")
    demo = tmp_path / "demo"
    file = demo / "data" / "reviews_Electronics_5.json.gz"
    get, prepare = str(demo / "data" / "get_data.sh"), str(demo / "preprocess.sh")
    run(get, code=0)
    made = file.read_bytes()
    assert "is there already" in run(get, code=0)
    assert "half of them positive" in run(prepare, code=0)
    file.write_bytes(b"no gzip")
    assert "no gzip" not in run(get, code=0)
    assert file.read_bytes() == b"no gzip"  # a downloaded one is not written over
    (tmp_path / "mine.json.gz").write_bytes(made)
    run(get, "mine.json.gz", code=0, cwd=tmp_path)
    assert file.read_bytes() == made
    assert "is in its place" in run(get, str(file), code=0)
    assert sorted(path.name for path in file.parent.iterdir()) == ["get_data.sh", "prepared", file.name]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("nowhere.json.gz",), 1, "nowhere.json.gz"),
        (("torn.json.gz",), 1, "unexpected end of file"),
        (("a", "b"), 64, "usage: get_data.sh [FILE]"),
    ],
)
def test_a_file_that_cannot_be_taken_leaves_nothing_behind(
    tmp_path: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    laid_out(tmp_path, "")
    (tmp_path / "torn.json.gz").write_bytes(bytes.fromhex("1f8b0800000000000003"))
    assert told in run(str(tmp_path / "demo" / "data" / "get_data.sh"), *words, code=code, cwd=tmp_path)
    assert [path.name for path in (tmp_path / "demo" / "data").iterdir()] == ["get_data.sh"]


def test_shellcheck_finds_nothing() -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("no shellcheck here")
    scripts = (EXAMPLE / "train.sh", EXAMPLE / "preprocess.sh", EXAMPLE / "data" / "get_data.sh")
    done = subprocess.run(("shellcheck", *map(str, scripts)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def run(*words: str, code: int, cwd: Path = Path("/")) -> str:
    """Run a script, hold its exit code, and return what it said."""
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr
