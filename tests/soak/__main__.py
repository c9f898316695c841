"""Let many gangs suffer random faults, and say what came of it: `python -m tests.soak [--runs N] [--seed S]`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.soak.many import ROOT, Soak, soak
from tests.soak.plans import plan
from tests.soak.runs import Result, run
from tests.soak.tables import BEGINNING, table


def _one(seed: int, top: Path) -> Result:
    return run(plan(seed), top)


FAULTS = Soak(
    module="tests.soak",
    what=__doc__ or "",
    room=ROOT / "build" / "soak",
    runs=300,
    seed=8000,
    one=_one,
    plan=plan,
    beginning=BEGINNING,
    table=table,
)

if __name__ == "__main__":
    sys.exit(soak(FAULTS))
