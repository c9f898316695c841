"""Forty gangs of five suffer random faults: `python -m tests.soak` with its own seeds does more of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

RUNS, SEED = 40, 4000


@pytest.mark.timeout(900)
def test_gangs_outlive_random_faults() -> None:
    argv = [sys.executable, "-m", "tests.soak", "--runs", str(RUNS), "--seed", str(SEED)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    print(ended.stdout)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
