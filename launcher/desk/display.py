"""What moves while one waits: a line written over and over on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from typing import TextIO

EVERY = 5.0  # seconds between two lines where no terminal is


class Line:
    """The last line of a stream."""

    def __init__(self, stream: TextIO) -> None:
        """Show nothing yet."""
        self._stream = stream
        self._due = 0.0

    def show(self, text: str) -> None:
        """Show how far it is; where nothing can be written over, only when the last time is long ago."""
        if self._stream.isatty():
            self._write(f"\r{text}\x1b[K")
        elif time.monotonic() >= self._due:
            self._due = time.monotonic() + EVERY
            self._write(f"{text}\n")

    def say(self, sentence: str) -> None:
        """Say something that stays."""
        self._write(f"\r\x1b[K{sentence}\n" if self._stream.isatty() else f"{sentence}\n")

    def finish(self, text: str) -> None:
        """Show how far it came, and leave the line."""
        self._due = 0.0
        self.say(text)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
