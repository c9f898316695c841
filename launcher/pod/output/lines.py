"""Cuts a stream of blocks into whole lines, each with its prefix.

No I/O here.
"""

from __future__ import annotations

LINE_LIMIT = 16 * 1024 * 1024  # a longer line comes out in pieces of this size, so that memory stays bounded


class Lines:
    """One stream's unfinished line, and the prefix that its lines get."""

    def __init__(self, prefix: bytes, limit: int = LINE_LIMIT) -> None:
        self._prefix = prefix
        self._limit = limit
        # Not a list of blocks: a progress bar writes millions of a few bytes before its first newline.
        self._rest = bytearray()

    def feed(self, block: bytes) -> bytes:
        """Return the lines that this block completes; keep what comes after the last newline."""
        end = block.rfind(b"\n")
        out = b""
        if end >= 0:
            # One replace over the block is what makes 200 MB/s possible; a loop over lines makes 40.
            more = block[:end].replace(b"\n", b"\n" + self._prefix) if self._prefix else block[:end]
            out = b"".join((self._prefix, self._rest, more, b"\n"))
            self._rest = bytearray()
        self._rest += block[end + 1 :]
        return out if len(self._rest) <= self._limit else out + self.rest()

    def apart(self, lines: bytes) -> bytes:
        """Return whole lines of another's with the same prefix; what is unfinished here stays so."""
        return Lines(self._prefix).feed(lines)

    def rest(self) -> bytes:
        """Return the unfinished line, finished; nothing where there is none."""
        if not self._rest:
            return b""
        out = b"".join((self._prefix, self._rest, b"\n"))
        self._rest = bytearray()
        return out
