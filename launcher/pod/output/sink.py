"""A place that output goes to, behind a bounded queue and a thread of its own.

A slow reader slows the writer, as a pipe does. One that takes nothing at all for a while is written off until it
takes something again: output is dropped and counted meanwhile. So it can stop neither a child nor the launcher.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

_LIMIT = 4 * 1024 * 1024
_PATIENCE = 1.0
_COST = 128  # what a queued block costs beside its bytes: a million of one byte each must not pass for one megabyte


class _Place(Protocol):
    """Where a sink's blocks go; only the sink's own thread writes, and may wait there for ever."""

    def write(self, block: memoryview) -> int:
        """Take some of a block, as little as shows that the reader moves, and return how much."""

    def stands_still(self) -> None:
        """Take note that nothing was taken for a while, so that blocks are dropped from now on; do not wait."""

    def goes_on(self, lost: int) -> bytes:
        """Return the words that go out where so many bytes were dropped; do not wait."""

    def close(self) -> None:
        """Give back what the place holds; nothing is written after it."""


class Sink:
    """A bounded queue of blocks, and the thread that writes them to their place."""

    def __init__(self, place: _Place, *, name: str, limit: int = _LIMIT, patience: float = _PATIENCE) -> None:
        self._place = place
        self._limit = limit
        self._patience = patience
        self._queue: deque[bytes | None] = deque()  # the block being written stays in it; None is the end
        self._held = 0
        self._written = 0  # of the block being written
        self._taken = 0
        self._still_at = -1  # what `taken` was when the place was found to stand still
        self._mid_line = False
        self._untold = 0
        self.lost = 0
        self._changed = threading.Condition()
        threading.Thread(target=self._drain, name=name, daemon=True).start()

    @property
    def waiting(self) -> int:
        """How many bytes are queued and not written yet."""
        with self._changed:
            return sum(len(block) for block in self._queue if block) - self._written

    def put(self, block: bytes) -> None:
        """Queue a block; wait while the queue is full and moving, drop the block when it stands still."""
        with self._changed:
            # Once something was dropped, all is until the place moves: one gap, not a sieve.
            self._take_in(block, fits=not self._in_gap() and self._wait(lambda: self._has_room(len(block))))

    def put_now(self, block: bytes) -> None:
        """Queue a block on a line of its own without ever waiting, for the few words of a thread that must not."""
        with self._changed:
            if self._mid_line:
                block = b"\n" + block
            self._take_in(block, fits=not self._in_gap() and self._held < 2 * self._limit)

    def flush(self, until: float) -> bool:
        """Wait until all is written; give up when nothing moves, or at the time given; return whether it was."""
        with self._changed:
            return self._wait(lambda: not self._queue, until)

    def close(self, until: float) -> bool:
        """Write what is queued and end the thread; return whether all was written by then."""
        with self._changed:
            self._own_up()
            self._append(None)
        return self.flush(until)

    def _has_room(self, size: int) -> bool:
        return not self._held or self._held + size + _COST <= self._limit

    def _in_gap(self) -> bool:
        return bool(self._untold) and self._taken == self._still_at

    def _wait(self, good: Callable[[], bool], until: float = float("inf")) -> bool:
        """Wait until it is good, for as long as the place takes anything; return whether it is."""
        while not good():
            taken, left = self._taken, until - time.monotonic()
            if taken == self._still_at or left <= 0:
                return False
            if not self._changed.wait(min(self._patience, left)) and taken == self._taken and left > self._patience:
                self._still_at = taken
                self._place.stands_still()
        return True

    def _take_in(self, block: bytes, *, fits: bool) -> None:
        if fits:
            self._own_up()
            self._append(block)
        else:
            self._untold += len(block)
            self.lost += len(block)

    def _own_up(self) -> None:
        """Queue the words for the gap, on a line of their own."""
        if self._untold:
            words = self._place.goes_on(self._untold)
            self._untold = 0
            if words:
                self._append(b"\n" + words if self._mid_line else words)

    def _append(self, block: bytes | None) -> None:
        self._queue.append(block)
        if block:
            self._held += len(block) + _COST
            self._mid_line = not block.endswith(b"\n")
        self._changed.notify_all()

    def _drain(self) -> None:
        while (block := self._next()) is not None:
            self._write(block)
            self._done(len(block) + _COST if block else 0)
        self._place.close()
        self._done(0)

    def _next(self) -> bytes | None:
        with self._changed:
            while not self._queue:
                self._changed.wait()
            return self._queue[0]

    def _write(self, block: bytes) -> None:
        rest = memoryview(block)
        while True:  # once for an empty block too: it opens a file that nothing may ever be written to
            taken = self._place.write(rest)
            rest = rest[taken:]
            if not rest:
                return
            if taken:
                self._taken += 1
                self._written += taken

    def _done(self, cost: int) -> None:
        with self._changed:
            self._queue.popleft()
            self._held -= cost
            self._taken += 1
            self._written = 0
            if not self._queue:
                self._own_up()
            self._changed.notify_all()
