"""Many runs of a soak, some at once: each follows from its seed, and what came of all is a table."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from tests.soak.tables import with_section

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "bench" / "soak.md"
SAID = 30.0  # seconds between two lines where nobody watches a terminal
BAR = 30
Came = TypeVar("Came")


@dataclass(frozen=True, slots=True, kw_only=True)
class Soak(Generic[Came]):
    """A kind of run: its module, how many there are and from which seed on, how one is made, and their section."""

    module: str
    what: str
    room: Path
    runs: int
    seed: int
    one: Callable[[int, Path], Came]
    plan: Callable[[int], object]
    beginning: str
    table: Callable[[Sequence[Came]], str]


def soak(kind: Soak[Came]) -> int:
    """Run all, print the table, and return whether every run was as it has to be."""
    asked = _arguments(kind)
    kind.room.mkdir(parents=True, exist_ok=True)
    with (kind.room / "said").open("w") as said, redirect_stdout(said):  # what pytest shows where a test fails
        return _soak(kind, asked)


def _say(text: str, end: str = "\n") -> None:
    print(text, end=end, flush=True, file=sys.__stdout__)


def _soak(kind: Soak[Came], asked: argparse.Namespace) -> int:
    results: list[Came] = []
    failed = 0
    begun = said = time.monotonic()
    for done, (seed, why, came) in enumerate(_all(kind, asked.runs, asked.seed, asked.jobs), start=1):
        results += came
        print(seed, why or came)
        if why:
            failed += 1
            _clear()
            again = f"{sys.executable} -m {kind.module} --runs 1 --seed {seed}"
            _say(f"run {seed} failed: {why}\n  its logs: {kind.room / str(seed)}\n  again: {again}")
        if _watched() or time.monotonic() > said + SAID:
            said = time.monotonic()
            _show(done, asked.runs, failed, said - begun)
    _clear()
    seconds, load = time.monotonic() - begun, os.getloadavg()[2]
    text = (
        f"{len(results)} of {asked.runs} runs went well, from seed {asked.seed} on; {seconds:.0f} s, load {load:.0f}."
    )
    _say(f"{text}\n\n{kind.table(results)}")
    if asked.write and not failed:
        PAGE.write_text(with_section(PAGE.read_text(), f"{kind.beginning}\n{text}\n\n{kind.table(results)}\n"))
    return 1 if failed else 0


def _arguments(kind: Soak[Came]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {kind.module}", description=kind.what)
    parser.add_argument(
        "--runs", type=int, default=kind.runs, metavar="N", help=f"how many gangs, {kind.runs} unless said"
    )
    parser.add_argument(
        "--seed", type=int, default=kind.seed, metavar="S", help=f"of the first run, {kind.seed} unless said"
    )
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), metavar="J", help="gangs at once")
    parser.add_argument(
        "--write", action="store_true", help=f"put the table into bench/{PAGE.name} if every run went well"
    )
    return parser.parse_args()


def _all(kind: Soak[Came], runs: int, seed: int, jobs: int) -> Iterator[tuple[int, str, list[Came]]]:
    """Yield each run's seed, why it failed, and its result where it did not, as they come."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for future in as_completed([pool.submit(_one, kind, number) for number in range(seed, seed + runs)]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _one(kind: Soak[Came], seed: int) -> tuple[int, str, list[Came]]:
    top = kind.room / str(seed)
    shutil.rmtree(top, ignore_errors=True)
    top.mkdir(parents=True)
    try:
        result = kind.one(seed, top)
    except BaseException as error:
        (top / "failure").write_text(f"{kind.plan(seed)}\n\n{''.join(traceback.format_exception(error))}")
        return seed, str(error) or type(error).__name__, []
    shutil.rmtree(top)
    return seed, "", [result]


def _show(done: int, runs: int, failed: int, seconds: float) -> None:
    left = f"{seconds / done * (runs - done):.0f} s left"
    text = f"{done} of {runs} runs, {failed} failed, {left}"
    if _watched():
        full = BAR * done // runs
        _say(f"\r\x1b[K[{'#' * full}{'.' * (BAR - full)}] {text}", end="")
    else:
        _say(text)


def _clear() -> None:
    if _watched():
        _say("\r\x1b[K", end="")


def _watched() -> bool:
    return sys.__stdout__ is not None and sys.__stdout__.isatty()
