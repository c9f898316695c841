"""The examples without parameter servers: short enough to be read at a glance; and what the table of them holds."""

from __future__ import annotations

import pytest

from tests.real.frameworks import ALL, JAX, PASSES, Example, Run
from tests.real.frameworks_table import HEAD, Trained


@pytest.mark.parametrize("example", ALL, ids=lambda each: each.folder)
def test_a_program_is_a_file_of_at_most_eighty_lines_and_alone_in_its_folder(example: Example) -> None:
    assert len(example.program.read_text().splitlines()) <= 80
    assert [path.name for path in example.program.parent.iterdir() if path.suffix == ".py"] == ["train.py"]
    assert len(example.alone) == 5


def run(last: float, *again: str, code: int = 0, passes: int = PASSES) -> Run:
    errors = {number: 1.0 - 0.1 * number for number in range(PASSES - 1)} | {PASSES - 1: last}
    names = tuple(f"pass-{number:05}" for number in range(passes))
    return Run(code=code, said="\n".join(again), errors=(errors,), passes=names, seconds=9.5)


AGAIN = "all started again after pass 1: trainer 1 was ended by SIGKILL, on node 1 (127.0.1.2)"
GOOD = run(0.6)


@pytest.mark.parametrize(
    ("three", "killed", "held"),
    [
        (run(JAX.worst), run(JAX.worst, AGAIN), True),
        (run(JAX.worst + 0.0001), run(0.6, AGAIN), False),
        (run(0.6, AGAIN), run(0.6, AGAIN), False),
        (run(0.6), run(0.6), False),
        (run(0.6), run(0.6, AGAIN, AGAIN), False),
        (run(0.6), run(0.6, AGAIN, code=137), False),
        (run(0.6, passes=4), run(0.6, AGAIN), False),
    ],
    ids=["as well", "worse", "began again", "was not killed", "began twice", "failed", "a pass short"],
)
def test_a_training_is_held_that_learns_as_well_and_begins_once_more_where_one_was_killed(
    three: Run, killed: Run, held: bool
) -> None:
    assert Trained(example=JAX, version="0.10.2", alone=GOOD, three=three, killed=killed).held is held


def test_a_row_tells_what_was_expected_and_what_came_of_it() -> None:
    row = Trained(example=JAX, version="0.10.2", alone=GOOD, three=GOOD, killed=run(0.6, AGAIN))
    expected = (
        "jax 0.10.2",
        "0.6131 to 0.6201",
        f"{JAX.worst:.4f}",
        "0.6000",
        "0.6000",
        "0.6000",
        "after pass 1",
        "yes",
    )
    assert row.cells == (*expected, "9.5", "9.5", "9.5")
    assert len(row.cells) == len(HEAD)
