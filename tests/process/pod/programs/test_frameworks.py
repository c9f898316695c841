"""What a framework's runtime does beside variables: files, a tracker, the reason of a failure."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lives import Lives

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def lives() -> Iterator[Lives]:
    with Lives() as made:
        yield made


def verdict(life_err: str) -> str:
    """Return the reason of the end."""
    return str(json.loads(life_err.splitlines()[-1])["reason"])


# As torch/distributed/elastic/multiprocessing/errors/error_handler.py, ErrorHandler.record_exception, of torch 2.15.
RECORDS = """
import json, os, sys
told = {"message": {"message": "ValueError: no column 'x'", "extraInfo": {"py_callstack": "...", "timestamp": "17"}}}
with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
    json.dump(told, file)
sys.exit(1)
"""


def test_what_a_torch_program_says_of_its_failure_is_in_the_verdict(lives: Lives, tmp_path: Path) -> None:
    env = {"LAUNCHER_RUNTIME": "torch", "POD_IP": "127.0.0.1", "LAUNCHER_WORKDIR": str(tmp_path)}
    life = lives.start(sys.executable, "-c", RECORDS, env={**env, "LAUNCHER_MAX_RESTARTS": "0"})
    assert life.end() == 1
    assert "trainer 0 exited with 1: ValueError: no column 'x'" in verdict(life.err())


def test_what_it_said_in_an_earlier_generation_is_not_said_again(lives: Lives, tmp_path: Path) -> None:
    once = f"import os, sys\nif os.path.exists('been'): sys.exit(3)\nopen('been', 'w').close(){RECORDS}"
    env = {"LAUNCHER_RUNTIME": "torch", "POD_IP": "127.0.0.1", "LAUNCHER_WORKDIR": str(tmp_path)}
    life = lives.start(sys.executable, "-c", once, env={**env, "LAUNCHER_MAX_RESTARTS": "1"})
    assert life.end(30) == 3
    assert "exited with 3" in verdict(life.err())
    assert "no column" not in verdict(life.err())


def test_lightgbm_s_machines_are_in_a_file_where_the_program_runs(lives: Lives, tmp_path: Path) -> None:
    env = {"LAUNCHER_RUNTIME": "lightgbm", "POD_IP": "127.0.0.1", "LAUNCHER_WORKDIR": str(tmp_path)}
    life = lives.start("cat", "machines.txt", env=env)
    assert life.line() == "127.0.0.1 12400"
    assert life.end() == 0


def test_files_that_cannot_be_written_are_71_in_a_sentence(lives: Lives, tmp_path: Path) -> None:
    (tmp_path / "machines.txt").mkdir()
    env = {"LAUNCHER_RUNTIME": "lightgbm", "POD_IP": "127.0.0.1", "LAUNCHER_WORKDIR": str(tmp_path)}
    life = lives.start("cat", "machines.txt", env=env)
    assert life.end() == 71
    assert "cannot prepare trainer 0: [Errno 21] Is a directory: 'machines.txt'" in verdict(life.err())


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """A Python that has nothing but its library, as `-I` sees it."""
    python = tmp_path / "python3-bare"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    python.chmod(0o755)
    return python


@pytest.mark.parametrize("runtime", ["torch", "jax"])
def test_a_python_without_its_framework_is_named(
    lives: Lives, tmp_path: Path, bare_python: Path, runtime: str
) -> None:
    env = {"LAUNCHER_RUNTIME": runtime, "POD_IP": "127.0.0.1", "LAUNCHER_WORKDIR": str(tmp_path)}
    env |= {"LAUNCHER_MAX_RESTARTS": "0", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    life = lives.start(bare_python.name, "-c", f"import {runtime}", env=env)
    assert life.end(30) == 1
    assert f"trainer 0 exited with 1: No module named '{runtime}' in {bare_python}" in verdict(life.err())


def test_a_python_without_xgboost_is_named(lives: Lives, tmp_path: Path, bare_python: Path) -> None:
    env = {"LAUNCHER_RUNTIME": "xgboost", "POD_IP": "127.0.0.1", "LAUNCHER_WORKDIR": str(tmp_path)}
    life = lives.start(str(bare_python), "-c", "import time; time.sleep(60)", env=env)
    assert life.end(30) == 71
    assert f"tracker 0 exited with 71: No module named 'xgboost' in {bare_python}" in verdict(life.err())
    assert "runs the tracker and cannot import xgboost: No module named 'xgboost'" in life.err()
