"""How far a copy is: a bar on a terminal, a line now and then elsewhere, nothing with -q."""

from __future__ import annotations

import sys
import time

from launcher.desk.columns import bar
from launcher.desk.terminal import LINE_EVERY, ProgressLine
from launcher.transfer.counting import Count

OFTEN = 0.1  # seconds


class CopyProgress:
    """Shows a count as it grows."""

    def __init__(self, *, quiet: bool) -> None:
        self._line = None if quiet else ProgressLine(sys.stderr)
        self._terminal = sys.stderr.isatty()
        self._begun = self._due = 0.0

    def begin(self) -> None:
        """Count the time from now on, for the speed; to go on with a copy is no new beginning."""
        if not self._begun:
            self._begun = time.monotonic()
            # Elsewhere than on a terminal, a copy that ends before its first line is told by its end.
            self._due = self._begun if self._terminal else self._begun + LINE_EVERY

    def __call__(self, count: Count) -> None:
        """Show how far it is."""
        now = time.monotonic()
        if self._line and now >= self._due:
            self._due = now + OFTEN
            so_far = progress_line(count, now - self._begun)
            self._line.show(f"{bar(count.bytes, count.all_bytes)} {so_far}" if self._terminal else so_far)

    def clear(self) -> None:
        """Clear the line for the next sentence."""
        if self._line and self._terminal:
            self._line.show("")
            sys.stderr.write("\r")

    def summary(self, count: Count, where: str) -> str:
        """Return the result in one line."""
        seconds = max(time.monotonic() - self._begun, 1e-3)
        there = count.bytes - count.came
        kept = f", {size(there)} of it was there already" if there else ""
        speed = f", {size(count.came / seconds)}/s" if count.came else ""
        return f"{where}: {files(count.files)}, {size(count.bytes)}{kept}{speed}"


def progress_line(count: Count, seconds: float) -> str:
    """Return one line of how far it is."""
    part = count.bytes / count.all_bytes if count.all_bytes else 1.0
    speed = size(count.came / max(seconds, 1e-3))
    of_all = f"{count.files:,}/{files(count.all_files)}"
    return f"{100 * min(part, 1):3.0f}%  {of_all}  {size(count.bytes)}/{size(count.all_bytes)}  {speed}/s"


def files(number: int) -> str:
    """Return how many."""
    return f"{number:,} file" + ("s" if number != 1 else "")


def size(number: float) -> str:
    """Return bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"
