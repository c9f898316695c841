"""This tree's launcher against a commit's, in turns (old, new, old, new ...), and which rows are slower."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import machine
from bench.benchmarks import TURNS, ground, measured
from bench.compared import FEWEST, Turn, compared, slower, table, unmeasured
from bench.trees import ROOT, NoTree, check_own, described, unpacked


def against(commit: str, names: Sequence[str], *, quick: bool, progress: Callable[[str, str], None]) -> int:
    """Measure, print, and return 1 where a row is slower or could not be measured."""
    before = machine.busy()
    try:
        said = described(commit)
        taken = _taken(commit, names, quick=quick, progress=progress)
    except NoTree as error:
        print(error, file=sys.stderr)
        return 2
    progress("", "")
    found = [row for turns in taken.values() for row in compared(turns)]
    without = [sentence for turns in taken.values() for sentence in unmeasured(turns)]
    load = f"load {before:.1f} before, {machine.busy():.1f} after"
    print(f"{time.strftime('%Y-%m-%d')}: {machine.described()}; {load}. Medians, with the quartiles.")
    print(f"Old: {said}. New: this tree.\n")
    print("\n".join((table(found), *without, slower(found))))
    return 1 if len(taken) < len(set(names)) or any(row.verdict == "slower" for row in found) else 0


def _taken(
    commit: str, names: Sequence[str], *, quick: bool, progress: Callable[[str, str], None]
) -> dict[str, list[Turn]]:
    """Return the turns of each benchmark; one that could not be measured is not among them."""
    found = {}
    with unpacked(commit) as old:
        for tree in (old, ROOT):
            check_own(ground("", old, quick=quick, tree=tree, progress=progress))
        for name in names:
            try:
                found[name] = _turns(name, old, FEWEST if quick else TURNS[name], quick=quick, progress=progress)
            except Exception as error:
                print(f"{name} could not be measured: {type(error).__name__}: {error}", file=sys.stderr)
    return found


def _turns(name: str, old: Path, count: int, *, quick: bool, progress: Callable[[str, str], None]) -> list[Turn]:
    """Measure one benchmark; the first turn does not count, since Python compiles a tree's modules in it."""
    progress(name, "")
    taken: list[Turn] = []
    for number in range(count + 1):
        both = []
        for which, tree in (("old", old), ("new", ROOT)):
            progress(name, f"turn {number} of {count}: {which}")
            both.append(measured(name, quick=quick, tree=tree, progress=lambda *_: None))
        if number:
            taken.append((both[0], both[1]))
    return taken
