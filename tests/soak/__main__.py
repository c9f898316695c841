"""Let many gangs suffer random faults, and say what came of it: `python -m tests.soak [--runs N] [--seed S]`."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.soak.plans import plan
from tests.soak.runs import Result, run
from tests.soak.tables import BEGINNING, table

ROOT = Path(__file__).parents[2]
ROOM = ROOT / "build" / "soak"
PAGE = ROOT / "bench" / "soak.md"
RUNS, SEED = 300, 8000
SAID = 30.0  # seconds between two lines where nobody watches a terminal
BAR = 30


def main() -> int:
    """Run all, print the table, and return whether every run was as it has to be."""
    asked = _arguments()
    results: list[Result] = []
    failed = 0
    begun = said = time.monotonic()
    for done, (seed, came) in enumerate(_all(asked.runs, asked.seed, asked.jobs), start=1):
        if isinstance(came, Result):
            results.append(came)
        else:
            failed += 1
            _clear()
            print(f"run {seed} failed: {came}\n  its logs: {ROOM / str(seed)}\n  again: {again(seed)}", flush=True)
        if sys.stdout.isatty() or time.monotonic() > said + SAID:
            said = time.monotonic()
            _show(done, asked.runs, failed, said - begun)
    _clear()
    seconds = time.monotonic() - begun
    text = f"{len(results)} of {asked.runs} runs went well, from seed {asked.seed} on; {seconds:.0f} s.\n"
    print(f"{text}\n{table(results)}")
    if asked.write and not failed:
        PAGE.write_text(f"{BEGINNING}\n{text}\n{table(results)}\n")
    return 1 if failed else 0


def again(seed: int) -> str:
    """Return the command that repeats one run."""
    return f"{sys.executable} -m tests.soak --runs 1 --seed {seed}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"how many gangs, {RUNS} unless said")
    parser.add_argument("--seed", type=int, default=SEED, metavar="S", help=f"of the first run, {SEED} unless said")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), metavar="J", help="gangs at once")
    parser.add_argument(
        "--write", action="store_true", help="put the table into bench/soak.md if every run went well"
    )
    return parser.parse_args()


def _all(runs: int, seed: int, jobs: int) -> Iterator[tuple[int, Result | str]]:
    """Yield each run's seed with its result, or with why it failed, as they come."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for future in as_completed([pool.submit(_one, number) for number in range(seed, seed + runs)]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _one(seed: int) -> tuple[int, Result | str]:
    top = ROOM / str(seed)
    shutil.rmtree(top, ignore_errors=True)
    top.mkdir(parents=True)
    try:
        result = run(plan(seed), top)
    except BaseException as error:
        (top / "failure").write_text(f"{plan(seed)}\n\n{''.join(traceback.format_exception(error))}")
        return seed, str(error) or type(error).__name__
    shutil.rmtree(top)
    return seed, result


def _show(done: int, runs: int, failed: int, seconds: float) -> None:
    left = f"{seconds / done * (runs - done):.0f} s left"
    text = f"{done} of {runs} runs, {failed} failed, {left}"
    if sys.stdout.isatty():
        full = BAR * done // runs
        print(f"\r\x1b[K[{'#' * full}{'.' * (BAR - full)}] {text}", end="", flush=True)
    else:
        print(text, flush=True)


def _clear() -> None:
    if sys.stdout.isatty():
        print("\r\x1b[K", end="")


if __name__ == "__main__":
    sys.exit(main())
