"""Who copies the files of a tree: one after the other, or several at a time while the walk goes on.

A directory stays open until every file that was begun before it was left is there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress

from launcher.pod.outcome import ShardError

FLYING = 512  # files that are begun and not looked after yet
OPEN = 32  # directories that are left and not closed yet


class Crew:
    """Copies, in this thread where there is no pool."""

    def __init__(self, pool: ThreadPoolExecutor | None) -> None:
        self._pool = pool
        self._flying: deque[Future[None]] = deque()
        self._left: deque[tuple[int, ExitStack]] = deque()
        self._done = 0

    def begin(self, work: Callable[[], None]) -> None:
        """Do something, or have it begun; what an earlier one raised may come up here."""
        if self._pool is None:
            work()
            return
        self._flying.append(self._pool.submit(work))
        if len(self._flying) > FLYING:
            self._collect()

    def leave(self, directory: ExitStack) -> None:
        """Close a directory as soon as nothing that was begun so far needs it."""
        self._left.append((self._done + len(self._flying), directory))
        self._close()
        while len(self._left) > OPEN:
            self._collect()

    def settle(self) -> None:
        """Return when all is done and closed."""
        while self._flying:
            self._collect()
        self._close()

    def halt(self) -> None:
        """Begin nothing more, wait for what runs, and close: a descriptor's number must not be used again before."""
        for each in self._flying:
            each.cancel()
        wait(self._flying)
        self._flying.clear()
        while self._left:
            with suppress(ShardError):  # something else went wrong before
                self._left.popleft()[1].close()

    def _collect(self) -> None:
        self._flying.popleft().result()
        self._done += 1
        self._close()

    def _close(self) -> None:
        while self._left and self._left[0][0] <= self._done:
            self._left.popleft()[1].close()
