"""A place that output goes to, behind a bounded queue and a thread of its own.

A slow reader slows the writer, as a pipe does. One that takes nothing at all for a while is written off until it
takes something again: what comes meanwhile is dropped and counted. So it can stop neither a child nor the launcher.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable

LIMIT = 4 * 1024 * 1024
PATIENCE = 1.0


class Sink:
    """A bounded queue of blocks, and the thread that writes them."""

    def __init__(
        self,
        write: Callable[[bytes], None],
        *,
        name: str,
        limit: int = LIMIT,
        patience: float = PATIENCE,
        dropped: Callable[[int], bytes] = lambda lost: b"",
    ) -> None:
        """Start the thread; `dropped` makes the words that go out where something was lost."""
        self._write = write
        self._limit = limit
        self._patience = patience
        self._dropped = dropped
        self._queue: deque[bytes] = deque()
        self._held = 0
        self._taken = 0
        self._busy = False
        self._changed = threading.Condition()
        self._stuck = False
        self.lost = 0
        self._untold = 0
        threading.Thread(target=self._drain, name=name, daemon=True).start()

    def put(self, block: bytes) -> None:
        """Queue a block; wait while the queue is full and moving, drop the block when it stands still."""
        if not block:
            return
        with self._changed:
            if self._held and self._held + len(block) > self._limit and not self._moves(len(block)):
                self.lost += len(block)
                self._untold += len(block)
                return
            if self._untold:
                self._append(self._dropped(self._untold))
                self._untold = 0
            self._append(block)
            self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until all is written; return whether it was, and give up early when nothing moves."""
        until = time.monotonic() + timeout
        with self._changed:
            while (self._queue or self._busy) and not self._stuck:
                if not self._changed.wait(until - time.monotonic()):
                    return False
            return not (self._queue or self._busy)

    def _append(self, block: bytes) -> None:
        self._queue.append(block)
        self._held += len(block)

    def _moves(self, size: int) -> bool:
        """Wait for room; return whether there is some, in the end."""
        while self._held and self._held + size > self._limit:
            taken = self._taken
            if self._stuck:
                return False
            if not self._changed.wait(self._patience) and taken == self._taken:
                self._stuck = True
                return False
        return True

    def _drain(self) -> None:
        while True:
            with self._changed:
                while not self._queue:
                    self._changed.wait()
                block = self._queue.popleft()
                self._busy = True
            self._write(block)
            with self._changed:
                self._busy = self._stuck = False
                self._held -= len(block)
                self._taken += 1
                self._changed.notify_all()


class Stream:
    """Writes to a descriptor that others share; a reader that went away is no failure of the job."""

    def __init__(self, descriptor: int) -> None:
        """Take a descriptor that is already open."""
        self._descriptor = descriptor
        self.closed = False

    def write(self, block: bytes) -> None:
        """Write all of a block, however long the reader takes."""
        rest = memoryview(block)
        while rest and not self.closed:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:  # whoever started the launcher left it non-blocking
                poll = select.poll()
                poll.register(self._descriptor, select.POLLOUT)
                poll.poll()
            except OSError:
                self.closed = True
