"""Faults during real training, and the same with Paddle's own launcher, as tables: `python -m tests.real.faults`.

Five undisturbed runs say what a training comes to; each fault then has a run of its own, in another pass.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from bench import machine
from tests.real import faults_bare, faults_gang, faults_table, install
from tests.real.faults_gang import PASSES
from tests.real.faults_table import Plateau, Run

PAGE = Path(__file__).parents[2] / "bench" / "training.md"
UNDISTURBED = 5
RUNS = UNDISTURBED + len(faults_gang.FAULTS) + 2 + len(faults_bare.FAULTS)
MINUTES = 18  # on an idle machine with two cores
BEGINNING = """\
# Faults during training

Written by `python -m tests.real.faults --write`, a part of `make faults`: `examples/recommendation` on three
nodes of this machine, each with one of Paddle's pservers and a trainer, with the default time-outs, on 24,000
made-up ratings. Most of a run is the import of Paddle, by three processes at once and then three others, and all
of that again after a fault. The RMSE is that of the held-out ratings.
"""
BARE = f"""\
## The bare command

The same network, data and engine under `python -m paddle.distributed.launch --run_mode=ps`, barriers by
Paddle's own store ([the program](../tests/real/bare.py)): one launch with three pservers and three trainers,
or a launch with one of each on three nodes. Watched for {faults_bare.WATCHED:g} s after the fault. The
seconds are those from the fault to the last end, or to when nobody watched any longer; without a fault from
the start.
"""
Named = tuple[str, Callable[[Path], Run]]


def main() -> int:
    """Run all, print the tables, and return whether every training under our launcher came to its end."""
    parser = argparse.ArgumentParser(prog="python -m tests.real.faults", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into bench/training.md if all is well")
    asked = parser.parse_args()
    try:
        python = install.python()
    except install.NotHere as error:
        print(f"no real training: {error}", file=sys.stderr)
        return 0
    progress = Progress()
    before = machine.busy()
    undisturbed = list(_runs(progress, [("undisturbed", partial(faults_gang.run, python))] * UNDISTURBED))
    if progress.failed:
        return 1
    plateau = Plateau.of(undisturbed, PASSES)
    faults = list(_runs(progress, _ours(python)))
    bare = list(_runs(progress, _bare(python)))
    text = "\n\n".join(
        (
            f"{time.strftime('%Y-%m-%d')}: {machine.described()}; load {before:.1f} before.",
            faults_table.told(plateau),
            faults_table.ours(plateau, undisturbed, faults, PASSES),
            f"{BARE}\n{faults_table.bare(bare, PASSES)}",
        )
    )
    print(text)
    good = not progress.failed and plateau.reached and all(plateau.holds(run, PASSES) for run in faults)
    if asked.write and good:
        PAGE.write_text(f"{BEGINNING}\n{text}\n")
    return 0 if good else 1


def _ours(python: Path) -> list[Named]:
    """Return a run for each fault, in one pass after the other but the first and the last."""
    return [
        (fault.what, partial(faults_gang.run, python, fault=fault, number=1 + at % (PASSES - 2)))
        for at, fault in enumerate(faults_gang.FAULTS)
    ]


def _bare(python: Path) -> list[Named]:
    """Return an undisturbed run of each form, and one for each fault."""
    whole: list[Named] = [
        (f"bare, {name}, undisturbed", partial(faults_bare.run, python, launches=launches))
        for name, launches in (("one launch", 1), ("three nodes", 3))
    ]
    faults: list[Named] = [
        (f"bare, {fault.what}", partial(faults_bare.run, python, launches=fault.launches, fault=fault, number=4))
        for fault in faults_bare.FAULTS
    ]
    return whole + faults


def _runs(progress: Progress, several: list[Named]) -> Iterator[Run]:
    for what, run in several:
        progress.show(what)
        with tempfile.TemporaryDirectory(prefix="faults-") as top:
            try:
                yield run(Path(top))
            except pytest.skip.Exception as skipped:
                print(f"not here: {what}: {skipped}", file=sys.stderr)
            except AssertionError as error:
                progress.failed += 1
                print(f"failed: {what}: {error}", *getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)


class Progress:
    """How far it is: one line that is written over on a terminal, else a line a run."""

    def __init__(self) -> None:
        self.failed = 0
        self._done = 0
        self._begun = time.monotonic()

    def show(self, what: str) -> None:
        """Say what runs now."""
        minutes = (time.monotonic() - self._begun) / 60
        text = f"run {self._done + 1} of {RUNS}, {minutes:.0f} of about {MINUTES} minutes: {what}"
        print(
            f"\r\x1b[K{text}" if sys.stderr.isatty() else text,
            end="" if sys.stderr.isatty() else "\n",
            file=sys.stderr,
            flush=True,
        )
        self._done += 1


if __name__ == "__main__":
    sys.exit(main())
