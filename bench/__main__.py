"""Run the benchmarks that are named, or all of them, and print one table."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench import machine
from bench.against import against
from bench.asked import asked
from bench.benchmarks import BENCHMARKS, TURNS, measured
from bench.rows import Row
from bench.table import inserted, missed, table

PAGE = Path(__file__).with_name("README.md")


def main() -> int:
    """Measure, print, and say by the exit code whether everything could be measured, and nothing is slower."""
    wanted = asked(sys.argv[1:], tuple(BENCHMARKS), tuple(TURNS))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything started is ended
    if wanted.against:
        return against(wanted.against, wanted.names, quick=wanted.quick, progress=_progress)
    before = machine.busy()
    found, failed = _measured(wanted.names, quick=wanted.quick)
    text = "\n".join((_circumstances(before, quick=wanted.quick), "", table(found), missed(found)))
    print(text)
    if wanted.write and not failed:
        PAGE.write_text(inserted(PAGE.read_text(), text))
    return 1 if failed else 0


def _measured(names: Sequence[str], *, quick: bool) -> tuple[list[Row], list[str]]:
    """Return the rows, and the names of the benchmarks that could not be measured."""
    found: list[Row] = []
    failed = []
    for name in names:
        _progress(name, "")
        try:
            found += measured(name, quick=quick, progress=_progress)
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
