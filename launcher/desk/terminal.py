"""What a user sees: results on stdout, everything else on stderr, and a line that moves while one waits."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

COLOURS = (36, 33, 32, 35, 34, 91, 96, 93, 92, 95)
LINE_EVERY = 5.0  # seconds between two lines where no terminal is


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """How much is shown, and whether in colours."""

    quiet: bool = False
    verbose: bool = False
    colours: bool = False
    screen: bool = False  # somebody looks at standard output

    @classmethod
    def of(cls, *, quiet: bool, verbose: bool, environ: Mapping[str, str] = os.environ) -> Terminal:
        """Return how much to show, with colours only where standard output is a terminal."""
        screen = sys.stdout.isatty()
        return cls(quiet=quiet, verbose=verbose, colours=screen and not environ.get("NO_COLOR"), screen=screen)

    def out(self, text: str) -> None:
        """Write a result."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def note(self, sentence: str) -> None:
        """Write a sentence to stderr, unless -q is given."""
        if not self.quiet:
            sys.stderr.write(f"{sentence}\n")

    def warn(self, sentence: str) -> None:
        """Write a sentence to stderr, also with -q."""
        sys.stderr.write(f"{sentence}\n")

    def detail(self, sentence: str) -> None:
        """Write a sentence to stderr where -v is given."""
        if self.verbose:
            sys.stderr.write(f"{sentence}\n")

    def coloured(self, text: str, number: int) -> str:
        """Return a text in one of ten colours."""
        return f"\x1b[{COLOURS[number % len(COLOURS)]}m{text}\x1b[0m" if self.colours else text


class ProgressLine:
    """The last line of a stream."""

    def __init__(self, stream: TextIO) -> None:
        """Show nothing yet."""
        self._stream = stream
        self._due = 0.0

    def show(self, text: str) -> None:
        """Show the progress; where no line can be written over, only every few seconds."""
        if self._stream.isatty():
            self._write(f"\r{text}\x1b[K")
        elif time.monotonic() >= self._due:
            self._due = time.monotonic() + LINE_EVERY
            self._write(f"{text}\n")

    def say(self, sentence: str) -> None:
        """Write a sentence that stays."""
        self._write(f"\r\x1b[K{sentence}\n" if self._stream.isatty() else f"{sentence}\n")

    def finish(self, text: str) -> None:
        """Write the last progress, and leave the line."""
        self._due = 0.0
        self.say(text)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
