"""Sixteen gangs of five suffer random faults, of every kind: `make soak` does two hundred, with its own seeds."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.soak.plans import ALWAYS, TIMED, TORN, plan

RUNS, SEED = 16, 4014


def test_these_seeds_have_faults_of_every_kind() -> None:
    blows = [blow.kind for seed in range(SEED, SEED + RUNS) for blow in plan(seed).blows]
    assert {*TIMED, TORN, ALWAYS} == set(blows)


@pytest.mark.timeout(900)
def test_gangs_outlive_random_faults() -> None:
    argv = [sys.executable, "-m", "tests.soak", "--runs", str(RUNS), "--seed", str(SEED)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    print(ended.stdout)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
