"""Train all examples healthily for a while, and count the alarms: `python -m tests.soak.healthy [--seconds N]`.

Each is false. The parts add up: a part has a seed of its own and a length, and a line in bench/healthy.md.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
import traceback
from collections.abc import Iterator

from tests.real import install
from tests.real.planted.plans import ROOT
from tests.soak.health_plans import EXAMPLES, LARGE, Example, HealthyPlan, healthy_plan
from tests.soak.health_runs import Healthy, run
from tests.soak.tables import next_seed, part, with_part

ROOM = ROOT / "build" / "healthy"
PAGE = ROOT / "bench" / "healthy.md"
SECONDS = 600


def main() -> int:
    """Train for so long, say what was found, and return whether that was nothing."""
    asked = _arguments()
    seed = next_seed(PAGE.read_text()) if asked.seed is None else asked.seed
    begun = time.monotonic()
    came = list(_runs(seed, begun + asked.seconds, large=asked.large))
    failed = [each for each in came if isinstance(each, str)]
    good = [each for each in came if isinstance(each, Healthy)]
    line = part(time.strftime("%Y-%m-%d"), seed, time.monotonic() - begun, good, len(failed))
    print(line)
    if asked.write:
        PAGE.write_text(with_part(PAGE.read_text(), line))
    return 1 if failed or any(each.false for each in good) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.healthy", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="N", help=f"about, {SECONDS} unless said")
    parser.add_argument("--seed", type=int, metavar="S", help="of this part, the next one unless said")
    parser.add_argument("--large", action="store_true", help="with torch and TensorFlow: 7 GB, once")
    parser.add_argument("--write", action="store_true", help=f"add a line to bench/{PAGE.name}")
    return parser.parse_args()


def _runs(seed: int, until: float, *, large: bool) -> Iterator[Healthy | str]:
    """Yield what came of one run after the other, or why one failed."""
    examples = tuple(each for each in EXAMPLES if (large or each not in LARGE) and _is_here(each))
    number = 0
    while time.monotonic() < until:
        plan = healthy_plan(seed, number, examples)
        print(f"{until - time.monotonic():.0f} s left: {plan}", file=sys.stderr, flush=True)
        found = _one(seed, plan)
        if isinstance(found, str) or found.false:
            print(f"  NOT HEALTHY: {found}\n  {ROOM / f'{seed}-{number}'}", file=sys.stderr, flush=True)
        yield found
        number += 1


def _one(seed: int, plan: HealthyPlan) -> Healthy | str:
    top = ROOM / f"{seed}-{plan.number}"
    shutil.rmtree(top, ignore_errors=True)
    top.mkdir(parents=True)
    try:
        found = run(plan, top)
    except (Exception, AssertionError) as error:
        (top / "failure").write_text("".join(traceback.format_exception(error)))
        return str(error)
    if not found.false:
        shutil.rmtree(top)
    return found


def _is_here(example: Example) -> bool:
    """Return whether an example's Python is here, or can be had."""
    if example.environment is None:
        return True
    try:
        install.python(example.environment)
    except install.NotHere as error:
        print(f"not here: {example.folder}: {error}", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
