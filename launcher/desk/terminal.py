"""What is told at the desk: results on stdout, everything else on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

COLOURS = (36, 33, 32, 35, 34, 91, 96, 93, 92, 95)


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """How much is told, and whether in colours."""

    quiet: bool = False
    verbose: bool = False
    colours: bool = False

    @classmethod
    def of(cls, *, quiet: bool, verbose: bool, environ: Mapping[str, str] = os.environ) -> Voice:
        """Return the voice for this terminal, or for what stands in its place."""
        return cls(quiet=quiet, verbose=verbose, colours=sys.stdout.isatty() and not environ.get("NO_COLOR"))

    def out(self, text: str) -> None:
        """Write a result."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def note(self, sentence: str) -> None:
        """Say what is good to know."""
        if not self.quiet:
            sys.stderr.write(f"{sentence}\n")

    def warn(self, sentence: str) -> None:
        """Say what should be known, also with -q."""
        sys.stderr.write(f"{sentence}\n")

    def detail(self, sentence: str) -> None:
        """Say what is only of use when something is wrong."""
        if self.verbose:
            sys.stderr.write(f"{sentence}\n")

    def coloured(self, text: str, number: int) -> str:
        """Return a text in one of ten colours."""
        return f"\x1b[{COLOURS[number % len(COLOURS)]}m{text}\x1b[0m" if self.colours else text
