"""Gangs of five suffer random faults, of every kind, and others' width changes: `make soak` does hundreds of each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.soak.plans import ALWAYS, LIE, OF_PROGRAMS, OVERLAP, TIMED, Blow, Plan, plan
from tests.soak.runs import run

RUNS, SEED = 40, 8000
WIDTH_RUNS, WIDTH_SEED = 5, 18000


def test_these_seeds_have_faults_of_every_kind() -> None:
    blows = [blow.kind for seed in range(SEED, SEED + RUNS) for blow in plan(seed).blows]
    assert {*TIMED, *OF_PROGRAMS, ALWAYS} == set(blows)


@pytest.mark.parametrize(
    ("planted", "why"),
    [
        (OVERLAP, r"two at once: \w+ \d of generation 1 .* after trainer 2 of generation 2"),
        (LIE, "says 0, but trainer 2 ended with 7"),
    ],
    ids=["overlap", "lie"],
)
def test_what_is_wrong_in_a_run_is_found_by_what_its_programs_noted(tmp_path: Path, planted: str, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        run(Plan(seed=0, blows=(Blow(kind=planted, place=2, number=1),)), tmp_path)


@pytest.mark.timeout(900)
def test_gangs_outlive_random_faults() -> None:
    _well("tests.soak", RUNS, SEED)


@pytest.mark.timeout(300)
def test_gangs_whose_width_changes_at_random_have_one_verdict_and_the_model_of_an_undisturbed_training() -> None:
    _well("tests.soak.widths", WIDTH_RUNS, WIDTH_SEED)


def _well(module: str, runs: int, seed: int) -> None:
    argv = [sys.executable, "-m", module, "--runs", str(runs), "--seed", str(seed)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    print(ended.stdout)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
