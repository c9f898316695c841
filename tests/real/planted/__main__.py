"""Plant twelve faults in real trainings, and say what the launcher told of them: `python -m tests.real.planted`.

Which program, whose rank, at which moment and line follows from a seed; a round has all twelve. The launchers have
the same settings in every run, and know nothing of it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import machine
from bench.table import inserted
from tests.real import install
from tests.real.planted.judge import NOTHING
from tests.real.planted.plans import FAULTS, LATE, PROGRAMS, ROOT, ROUNDS, SEED, WITH_PSERVERS, Plan, plan, round_of
from tests.real.planted.runs import run
from tests.real.planted.tables import Result, enough, rounds

ROOM = ROOT / "build" / "planted"
PAGE = ROOT / "bench" / "diagnosis.md"
BEGIN, END = "<!-- planted: written by `python -m tests.real.planted --write` -->", "<!-- end of planted -->"


def main() -> int:
    """Run all, print the tables, and return whether every round has so many right as it has to have."""
    asked = _arguments()
    before = machine.busy()
    plans = _plans(asked)
    results = list(_results(plans))
    load = f"load {before:.1f} before, {machine.busy():.1f} after"
    text = f"{time.strftime('%Y-%m-%d')}: {machine.described()}; {load}.\n\n{rounds(results)}"
    print(text)
    if asked.write:
        PAGE.write_text(inserted(PAGE.read_text(), text, BEGIN, END))
    seeds = {each.seed for each in plans}
    return 0 if all(enough([each for each in results if each.plan.seed == seed]) for seed in seeds) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.real.planted", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"{ROUNDS} unless said")
    parser.add_argument("--seed", type=int, default=SEED, metavar="S", help=f"of the first round, {SEED} unless said")
    parser.add_argument("--fault", nargs="*", choices=[each.name for each in FAULTS], help="these alone")
    parser.add_argument("--program", choices=[each.name for each in PROGRAMS], help="in this one alone")
    parser.add_argument("--write", action="store_true", help=f"put the tables into bench/{PAGE.name}")
    return parser.parse_args()


def _plans(asked: argparse.Namespace) -> Sequence[Plan]:
    seeds = range(asked.seed, asked.seed + asked.rounds)
    some = [each for each in FAULTS if not asked.fault or each.name in asked.fault]
    if asked.program:
        programs = [each for each in PROGRAMS if each.name == asked.program]
        fit = [each for each in some if each is not LATE or programs[0] in WITH_PSERVERS]
        return [plan(seed, fault, programs) for seed in seeds for fault in fit]
    return [each for seed in seeds for each in round_of(seed) if each.fault in some]


def _results(plans: Sequence[Plan]) -> Iterator[Result]:
    begun = time.monotonic()
    for number, each in enumerate(plans, start=1):
        minutes = (time.monotonic() - begun) / 60
        print(f"run {number} of {len(plans)}, {minutes:.0f} minutes: {each}", file=sys.stderr, flush=True)
        yield _one(each)


def _one(planned: Plan) -> Result:
    """Run one; where it is not right, what there is of it stays, and how it is had again is said."""
    top = ROOM / f"{planned.seed}-{planned.fault.name}"
    shutil.rmtree(top, ignore_errors=True)
    top.mkdir(parents=True)
    try:
        result = run(planned, top)
    except install.NotHere:
        raise
    except (Exception, AssertionError) as error:
        (top / "failure").write_text("".join(traceback.format_exception(error)))
        result = Result(plan=planned, judged=NOTHING, message=str(error))
    if result.judged.right and result.code is not None:
        shutil.rmtree(top)
    else:
        print(
            f"  NOT RIGHT: {result.judged}\n  {result.message}\n  {top}\n  again: {again(planned)}", file=sys.stderr
        )
    return result


def again(planned: Plan) -> str:
    """Return the command that repeats one run."""
    words = f"--rounds 1 --seed {planned.seed} --fault {planned.fault.name} --program {planned.program.name}"
    return f"{Path(sys.executable).name} -m tests.real.planted {words}"


if __name__ == "__main__":
    sys.exit(main())
