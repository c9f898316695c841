"""Many small things, done in order: one after the other, or side by side once each is seen to wait for a network.

Threads cost more than they gain on a local disk, where the interpreter's lock is what they would wait for.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")

SIDE_BY_SIDE = 32
FLYING = 64  # begun, and not looked after yet: so many small files are held in memory
LOOKED_AT, LATE = 32, 24  # so many of the last ones have waited: a busy machine holds up but a few
PATIENCE = 5.0  # seconds, after a failure or Ctrl-C, for what is under way: a volume may hang
WAITED = 0.0003  # seconds, in which a local disk is long done


class Hands:
    """Whoever does it, for as long as one copy goes on."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._late: deque[bool] = deque(maxlen=LOOKED_AT)

    def __enter__(self) -> Hands:
        """Be it for a while."""
        return self

    def __exit__(self, *_: object) -> None:
        """Begin nothing more."""
        if self._pool:
            self._pool.shutdown(wait=False)

    @property
    def side_by_side(self) -> bool:
        """Whether it has shown that each waits."""
        return self._pool is not None

    def each(self, works: Iterable[Callable[[], T]]) -> Iterator[T]:
        """Do all, and yield what each comes to, in their order; they are asked for one by one, on this thread."""
        flying: deque[Future[T]] = deque()
        try:
            for work in works:
                if self._pool is None:
                    yield self._watched(work)
                    continue
                flying.append(self._pool.submit(work))
                if len(flying) > FLYING:
                    yield flying.popleft().result()
            while flying:
                yield flying.popleft().result()
        finally:
            wait(flying, PATIENCE)  # each closes what it was given

    def _watched(self, work: Callable[[], T]) -> T:
        begun, worked = time.perf_counter(), time.thread_time()
        found = work()
        self._late.append(time.perf_counter() - begun - (time.thread_time() - worked) > WAITED)
        if sum(self._late) >= LATE:
            self._pool = ThreadPoolExecutor(SIDE_BY_SIDE)
        return found
