"""Many small things, done in order: one after the other, or side by side where each waits for a network.

Threads cost more than they gain on a local disk, where the interpreter's lock is what they would wait for. Whether a
directory is on a network is asked of the kernel, or seen while it is worked in.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar

_T = TypeVar("_T")

MOUNTS = Path("/proc/self/mountinfo")
NETWORKS = frozenset(
    ["9p", "afs", "beegfs", "ceph", "cifs", "gfs2", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "ocfs2", "orangefs"]
)
SIDE_BY_SIDE = 32
FLYING = 64  # begun, and not looked after yet: so many small files are held in memory
_LEFT = 32  # directories that are left, and stay open for what was begun in them
LOOKED_AT, LATE_ANSWER = 32, 24  # so many of the last ones have waited: a busy machine holds up but a few
PATIENCE = 5.0  # seconds, after a failure or Ctrl-C, for what is under way: a volume may hang
WAITED = 0.0003  # seconds, in which a local disk is long done


class Workers:
    """The threads of one copy: as many as are given, or as soon as the works are seen to wait.

    Works that use descriptors of the caller's (`borrowing`) are dropped on a failure, and those that run waited for:
    a descriptor's number must not be used again before. Works that close what they were given are all done.
    """

    def __init__(self, threads: int = 0, *, flying: int = FLYING, borrowing: bool = False) -> None:
        self._measured = threads == 0
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._most = flying
        self._borrowing = borrowing
        self._late: deque[bool] = deque(maxlen=LOOKED_AT)
        self._flying: deque[Future[Any] | ExitStack] = deque()
        self._left = 0

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.halt()
        if self._pool:
            self._pool.shutdown(wait=False)

    @property
    def side_by_side(self) -> bool:
        """Whether several work at a time."""
        return self._pool is not None

    def each(self, works: Iterable[Callable[[], _T] | ExitStack]) -> Iterator[_T]:
        """Do all, and yield what each comes to, in their order; they are asked for one by one, on this thread.

        An ExitStack among them is closed as soon as all works before it are done.
        """
        try:
            for work in works:
                if self._pool is not None:
                    self._begin(self._pool, work)
                    yield from self._collected(self._most)
                elif isinstance(work, ExitStack):
                    work.close()
                else:
                    yield self._watched(work) if self._measured else work()
            yield from self._collected(0)
        finally:
            self.halt()

    def halt(self) -> None:
        """Begin nothing more, wait for what runs, and close the directories that were left."""
        running = [each for each in self._flying if isinstance(each, Future)]
        if self._borrowing:
            for each in running:
                each.cancel()
        wait(running, None if self._borrowing else PATIENCE)
        for left in self._flying:
            if isinstance(left, ExitStack):
                with suppress(Exception):  # something else went wrong before
                    left.close()
        self._flying.clear()
        self._left = 0

    def _begin(self, pool: ThreadPoolExecutor, work: Callable[[], Any] | ExitStack) -> None:
        if isinstance(work, ExitStack):
            self._left += 1
            self._flying.append(work)
        else:
            self._flying.append(pool.submit(work))

    def _collected(self, most: int) -> Iterator[Any]:
        while self._flying and (
            isinstance(self._flying[0], ExitStack) or len(self._flying) > most or self._left > _LEFT
        ):
            first = self._flying.popleft()
            if isinstance(first, ExitStack):
                self._left -= 1
                first.close()
            else:
                yield first.result()

    def _watched(self, work: Callable[[], _T]) -> _T:
        begun, worked = time.perf_counter(), time.thread_time()
        found = work()
        self._late.append(time.perf_counter() - begun - (time.thread_time() - worked) > WAITED)
        if sum(self._late) >= LATE_ANSWER:
            self._pool = ThreadPoolExecutor(SIDE_BY_SIDE)
        return found


def threads_for(directory: int, mounts: Path = MOUNTS) -> int:
    """Return how many files to copy at a time from an open directory."""
    try:
        device, text = os.fstat(directory).st_dev, mounts.read_text(errors="replace")
    except OSError:
        return 1
    return SIDE_BY_SIDE if is_network(file_system(device, text)) else 1


def is_network(kind: str) -> bool:
    """Return whether a file system of this kind has its files elsewhere; most in user space do."""
    return kind in NETWORKS or kind == "fuse" or kind.startswith("fuse.")


def file_system(device: int, text: str) -> str:
    """Return the kind of the file system with this device number, nothing if no mount has it."""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) > 2 and fields[2] == wanted and after:
            return after.split(" ")[0]
    return ""
