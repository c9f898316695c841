"""A fault in a real framework's training is told with the right rank and line: `make faults` plants all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real import install
from tests.real.planted.plans import JAX, READ, plan
from tests.real.planted.runs import run

pytestmark = pytest.mark.timeout(300)

SEED = 1100


def test_of_three_that_stand_in_jax_the_one_that_the_others_wait_for_is_named(tmp_path: Path) -> None:
    try:
        install.python(install.FRAMEWORKS)
    except install.NotHere as error:
        pytest.skip(f"no frameworks: {error}")
    result = run(plan(SEED, READ, (JAX,)), tmp_path)
    assert result.judged.right, result.judged
    assert result.code == 0, result.message
