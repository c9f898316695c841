"""The examples of frameworks without parameter servers: each trains for real, alone and on three local nodes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.real import install
from tests.real.frameworks import IN_CI, PASSES, Example, alone, local

pytestmark = [pytest.mark.timeout(300), pytest.mark.parametrize("example", IN_CI, ids=lambda each: each.folder)]

PORT = 16_000 + os.getpid() % 800 * 10  # with those that programs meet at below what the kernel gives away
ALL_PASSES = tuple(f"pass-{number:05}" for number in range(PASSES))


@pytest.fixture(scope="module")
def python() -> Path:
    """Return the Python that has the frameworks, installed if need be."""
    try:
        return install.python(install.FRAMEWORKS)
    except install.NotHere as error:
        pytest.skip(f"no frameworks: {error}")


def test_three_nodes_learn_as_well_as_one_process_of_the_same_program(
    example: Example, python: Path, tmp_path: Path
) -> None:
    by_itself = alone(example, python, tmp_path / "alone")
    assert by_itself.code == 0, by_itself.said
    together = local(example, python, tmp_path / "together", port=PORT)
    assert together.code == 0, together.said
    assert "all 3 pods ended with 0" in together.said
    assert together.again == ()
    assert by_itself.passes == together.passes == ALL_PASSES
    assert together.errors == (together.errors[0],) * 3
    assert list(together.errors[0]) == list(range(PASSES))
    assert max(by_itself.last, together.last) <= example.worst


def test_one_that_is_killed_in_training_costs_no_more_than_the_pass(
    example: Example, python: Path, tmp_path: Path
) -> None:
    run = local(example, python, tmp_path / "together", port=PORT, killed=(1, 2, 3))
    assert run.code == 0, run.said
    assert "all 3 pods ended with 0" in run.said
    (again,) = run.again
    # Of some frameworks the others fail at once, and may be told of first.
    first = "1 was ended by SIGKILL|[02] exited with [0-9]+"
    assert re.match(f"all started again after pass 1: trainer ({first}), ", again)
    assert run.passes == ALL_PASSES
    assert run.errors == (run.errors[0],) * 3
    assert run.last <= example.worst
