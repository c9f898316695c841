"""Let the width of many gangs change at random, and say what came of it: `python -m tests.soak.widths [--runs N]`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.soak.many import Soak, soak
from tests.soak.tables import WIDTHS_BEGINNING, width_table
from tests.soak.width_plans import width_plan
from tests.soak.width_runs import WidthResult, run_widths

RUNS, SEED = 200, 18000


def one(seed: int, top: Path) -> WidthResult:
    """Return what came of one gang."""
    return run_widths(width_plan(seed), top)


def main() -> int:
    """Run all, print the table, and return whether every run was as it has to be."""
    return soak(
        Soak(
            module="tests.soak.widths", what=__doc__ or "", room="widths", runs=RUNS, seed=SEED, one=one, plan=width_plan
        ),
        WIDTHS_BEGINNING,
        width_table,
    )


if __name__ == "__main__":
    sys.exit(main())
