"""A fault at a place that a seed draws is told with its rank and line: `make faults` plants all, in frameworks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.planted.plans import DEADLOCK, LATE, PLAIN, SERVED, SPIN_IN_C, Fault, Program, plan
from tests.real.planted.runs import QUICK, run

SEED = 1100


@pytest.mark.parametrize(
    ("fault", "program"),
    [(DEADLOCK, PLAIN), (SPIN_IN_C, PLAIN), (LATE, SERVED)],
    ids=lambda each: each.name,
)
def test_what_stands_is_named_with_its_line_and_the_training_goes_on(
    fault: Fault, program: Program, tmp_path: Path
) -> None:
    result = run(plan(SEED, fault, (program,)), tmp_path, QUICK)
    assert result.judged.right, result.judged
    assert result.code == 0, result.message
    assert result.unknown is not None
    assert result.unknown < 0.01
