"""What is asked for on the command line; what cannot be is refused with the names that there are."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The benchmarks to run, and how."""

    names: tuple[str, ...]
    quick: bool
    write: bool
    against: str


def asked(words: Sequence[str], known: Sequence[str], comparable: Sequence[str]) -> Asked:
    """Read the words; `comparable` are the benchmarks that can be measured against a commit."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Run the benchmarks that are named, or all of them, and print one table."
    )
    parser.add_argument("names", nargs="*", metavar="ROW", help=f"some of: {', '.join(known)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: to see that it works, not to quote")
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md as well")
    parser.add_argument(
        "--against",
        metavar="COMMIT",
        default="",
        help=f"that commit's launcher and this tree's in turns, for: {', '.join(comparable)}; 1 if a row is slower",
    )
    found = parser.parse_args(words)
    if unknown := set(found.names) - set(known):
        parser.error(f"there is no row {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
    if found.against and (unable := set(found.names) - set(comparable)):
        parser.error(
            f"{', '.join(sorted(unable))} cannot be measured against a commit; these can: {', '.join(comparable)}"
        )
    if found.write and (found.names or found.against):
        parser.error("--write takes the whole table: name no row and no commit")
    names = found.names or (comparable if found.against else known)
    return Asked(names=tuple(names), quick=found.quick, write=found.write, against=found.against)
