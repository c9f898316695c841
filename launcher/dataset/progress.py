"""The progress of a split: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

_EVERY, REDRAWN = 5.0, 0.1
_WIDTH = 30


class SplitProgress:
    """Writes the progress to a stream; `whole` is the size of the input, 0 if it is unknown."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._bar = stream.isatty()
        self._every = REDRAWN if self._bar else _EVERY
        self.begun = clock()
        self._due = self.begun + self._every
        self.whole = self.done = self.records = 0

    def at(self, done: int, whole: int, records: int) -> None:
        """Take new figures, and show them at most every few seconds."""
        self.done, self.whole, self.records = done, whole, records
        now = self._clock()
        if now >= self._due:
            self._due = now + self._every
            self.show("\r\x1b[K" + self.line(bar=True) if self._bar else self.line() + "\n")

    def end(self, sentence: str) -> None:
        """Write a sentence in place of the bar."""
        self.show(("\r\x1b[K" if self._bar else "") + sentence + "\n")

    def line(self, *, bar: bool = False) -> str:
        """Return the progress as text."""
        rate = self.done / max(self._clock() - self.begun, 1e-9) / 1e6
        if not self.whole:
            return f"{self.records} records"
        part = min(1.0, self.done / self.whole)
        drawn = f"[{'#' * int(part * _WIDTH):<{_WIDTH}}] " if bar else ""
        return f"{drawn}{part:.0%} of {self.whole / 1e6:.1f} MB, {rate:.0f} MB/s, {self.records} records"

    def show(self, text: str) -> None:
        """Write text; a stream without a reader is no error."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            pass
