"""Let the width of many gangs change at random, and say what came of it: `python -m tests.soak.widths [--runs N]`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.soak.many import ROOT, Soak, soak
from tests.soak.tables import WIDTHS, width_table
from tests.soak.width_plans import width_plan
from tests.soak.width_runs import WidthResult, run_widths


def _one(seed: int, top: Path) -> WidthResult:
    return run_widths(width_plan(seed), top)


OF_WIDTHS = Soak(
    module="tests.soak.widths",
    what=__doc__ or "",
    room=ROOT / "build" / "widths",
    runs=200,
    seed=18000,
    one=_one,
    plan=width_plan,
    beginning=WIDTHS,
    table=width_table,
)

if __name__ == "__main__":
    sys.exit(soak(OF_WIDTHS))
