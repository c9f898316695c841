"""Run the benchmarks that are named, or all of them, and print one table."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench import machine
from bench.data import data
from bench.death import death
from bench.desk import desk
from bench.gang import gang
from bench.gang_waking import waking
from bench.idle import idle
from bench.lives import Ground
from bench.meet import meet
from bench.movielens import movielens
from bench.pfs import pfs
from bench.pump import pump
from bench.rows import Row
from bench.start import start
from bench.stop import stop
from bench.table import inserted, missed, table
from bench.training import training

BENCHMARKS: dict[str, Callable[[Ground], tuple[Row, ...]]] = {
    "start": start,
    "meet": meet,
    "stop": stop,
    "death": death,
    "gang": gang,
    "waking": waking,
    "pump": pump,
    "idle": idle,
    "data": data,
    "desk": desk,
    "pfs": pfs,
    "training": training,
    "movielens": movielens,
}
PAGE = Path(__file__).with_name("README.md")


def main() -> int:
    """Measure, print, and say by the exit code whether everything could be measured."""
    asked = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything started is ended
    before = machine.busy()
    found, failed = _measured(asked.names or list(BENCHMARKS), quick=asked.quick)
    text = "\n".join((_circumstances(before, quick=asked.quick), "", table(found), missed(found)))
    print(text)
    if asked.write and not failed:
        PAGE.write_text(inserted(PAGE.read_text(), text))
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one or more of: {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: to see that it works, not to quote")
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md as well")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(BENCHMARKS):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; there are: {', '.join(BENCHMARKS)}")
    if asked.write and asked.names:
        parser.error("--write takes the whole table: name no benchmark")
    return asked


def _measured(names: Sequence[str], *, quick: bool) -> tuple[list[Row], list[str]]:
    """Return the rows, and the names of the benchmarks that could not be measured."""
    found: list[Row] = []
    failed = []
    for name in names:
        _progress(name, "")
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            ground = Ground(
                directory=Path(directory),
                quick=quick,
                root=os.geteuid() == 0,
                progress=partial(_progress, name),
            )
            try:
                found += BENCHMARKS[name](ground)
            except Exception as error:
                failed.append(name)
                print(f"{name} could not be measured: {type(error).__name__}: {error}", file=sys.stderr)
    _progress("", "")
    return found, failed


def _progress(name: str, text: str) -> None:
    """Say how far it is: in one line that is written over on a terminal, else once a benchmark."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{name} {text}", end="", file=sys.stderr, flush=True)
    elif name and not text:
        print(f"measuring: {name}", file=sys.stderr, flush=True)


def _circumstances(before: float, *, quick: bool) -> str:
    rounds = "few rounds (--quick)" if quick else "all rounds"
    load = f"load {before:.1f} before, {machine.busy():.1f} after"
    return f"{time.strftime('%Y-%m-%d')}: {machine.described()}; {load}; {rounds}. Medians, with the quartiles."


if __name__ == "__main__":
    sys.exit(main())
