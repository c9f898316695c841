"""SHA-256 of what is copied, on a thread beside the reading: both let go of the interpreter's lock."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

BLOCK = 256 << 10  # still in the cache when the thread beside hashes it: twice as fast as 1 MiB with a busy neighbour
RING = 8


class Ring:
    """Blocks to read into, in turn; each is free again when its content is hashed."""

    def __init__(self, beside: ThreadPoolExecutor | None) -> None:
        self._beside = beside
        self._blocks = [bytearray(BLOCK) for _ in range(RING if beside else 1)]
        self._busy: dict[int, Future[None]] = {}
        self._turn = 0

    def block(self) -> bytearray:
        """Return the next block that is free."""
        self._turn = (self._turn + 1) % len(self._blocks)
        if busy := self._busy.pop(self._turn, None):
            busy.result()
        return self._blocks[self._turn]

    def hash(self, data: memoryview, into: Callable[[memoryview], None], *, alone: bool) -> None:
        """Hash what stands in the last block: here where a file is one block alone, else beside."""
        if alone or self._beside is None:
            into(data)
        else:
            self._busy[self._turn] = self._beside.submit(into, data)

    def settle(self) -> None:
        """Return when everything is hashed."""
        while self._busy:
            self._busy.popitem()[1].result()


def sha256_of(file: int, block: bytearray) -> str:
    """Return the digest of an open file."""
    digest = hashlib.sha256()
    while count := os.readv(file, [block]):
        digest.update(memoryview(block)[:count])
    return digest.hexdigest()
