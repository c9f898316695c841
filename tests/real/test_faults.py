"""When a training with a fault counts as good as an undisturbed one. No Paddle is needed for that."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.real.faults_table import Plateau, Run, bare, ours, told

PASSES = 10
FALLING = (1.0, 0.9, 0.7)
FLAT = (0.63, 0.63, 0.63, 0.63, 0.62, 0.63, 0.62)


def errors(*values: float) -> Mapping[int, float]:
    return dict(enumerate(values))


def run(
    *values: float, codes: tuple[int | None, ...] = (0, 0, 0), seconds: float = 20, number: int | None = 3
) -> Run:
    return Run(
        what="a fault", number=number, codes=codes, errors=errors(*FALLING, *values), seconds=seconds, after=(2,)
    )


UNDISTURBED = [run(*FLAT, number=None), run(*(each + 0.01 for each in FLAT), seconds=24, number=None)]
PLATEAU = Plateau.of(UNDISTURBED, PASSES)


def test_the_plateau_is_the_mean_of_the_last_passes_and_how_far_it_still_falls() -> None:
    assert PLATEAU.low == pytest.approx(0.625)
    assert PLATEAU.high == pytest.approx(0.635)
    assert PLATEAU.gain == pytest.approx((0.6475 + 0.655) / 2 - 0.63)
    assert PLATEAU.seconds == 22
    assert not PLATEAU.reached
    flat = Plateau.of([Run(what="", codes=(0,), errors=errors(*[0.63] * PASSES), seconds=1)], PASSES)
    assert flat.reached
    assert ("NOT a plateau" in told(PLATEAU), "NOT a plateau" in told(flat)) == (True, False)


@pytest.mark.parametrize("shift", [0.0, -0.019, 0.029])
def test_a_run_that_ends_where_the_undisturbed_do_is_held(shift: float) -> None:
    assert PLATEAU.holds(run(*(each + shift for each in FLAT)), PASSES)


@pytest.mark.parametrize(
    "other",
    [
        run(*(each + 0.031 for each in FLAT)),
        run(*(each - 0.021 for each in FLAT)),
        run(*FLAT[1:]),
        run(*FLAT, codes=(0, 0, 76)),
        run(*FLAT, codes=(0, None, 0)),
    ],
    ids=["above", "below", "a pass short", "a code", "still running"],
)
def test_another_one_is_not(other: Run) -> None:
    assert not PLATEAU.holds(other, PASSES)
    assert "| NO |" in ours(PLATEAU, UNDISTURBED, [other], PASSES)


def test_the_tables_tell_what_came_of_each() -> None:
    lines = ours(PLATEAU, UNDISTURBED, [run(*FLAT, seconds=31.5)], PASSES).splitlines()
    assert len(lines) == 5
    assert lines[-1] == "| a fault | 3 | 2 | 0, 0, 0 | 0.6250 | 0.6200 | yes | 31.5 | 9.5 |"
    shown = bare([run(codes=(None, 247, None), seconds=60.0)], PASSES).splitlines()
    assert shown[-1] == "| a fault | 3 | still runs, 247, still runs | 60.0 | 3 | 0.7000 |"
