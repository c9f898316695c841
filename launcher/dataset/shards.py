"""The shards of a split while they are written: a thread of its own writes and hashes them."""

from __future__ import annotations

import hashlib
import os
import queue
import threading

from launcher.dataset.chunks import LARGEST, LENGTH, NONE, encode_chunk
from launcher.dataset.problem import DatasetError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_BLOCK = 1 << 20
PENDING = 32 << 20  # bytes that wait to be written, of all shards together
QUEUED = 8


class ShardFile:
    """One file that is being written."""

    def __init__(self, path: str, size: int) -> None:
        self.path, self.size = path, 0
        self.digest = hashlib.sha256()
        self.waiting: list[bytes] = []
        self.bytes = 0  # of those
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.ftruncate(self.fd, size)
            while self.size < size:
                block = os.read(self.fd, min(_BLOCK, size - self.size))
                self.took(block)
        except BaseException:
            os.close(self.fd)
            raise

    def took(self, data: bytes) -> None:
        """Count and hash bytes that are in the file."""
        self.digest.update(data)
        self.size += len(data)


class ShardFiles:
    """All shards of a split, each a file of lines or of RecordIO chunks."""

    def __init__(self, directory: str, sizes: Sequence[int], *, recordio: bool) -> None:
        self._recordio = recordio
        self._large = max(4096, min(_BLOCK, PENDING // len(sizes)))
        self._todo: queue.Queue[tuple[ShardFile, bytes] | None] = queue.Queue(QUEUED)
        self._failure: OSError | None = None
        self.all: list[ShardFile] = []
        self._thread = threading.Thread(target=self._work, daemon=True)
        try:
            for number, size in enumerate(sizes):
                self.all.append(ShardFile(path_in(directory, number), size))
        except BaseException:
            self._close()
            raise
        self._thread.start()

    def add(self, number: int, records: list[bytes]) -> None:
        """Queue records for a shard."""
        shard = self.all[number]
        if self._recordio:
            for record in records:
                if len(record) > LARGEST:
                    raise DatasetError(
                        f"a record of {len(record)} bytes: RecordIO takes at most {LARGEST}; nothing is written"
                    )
                self._wait(shard, record, LENGTH + len(record))
        else:
            lines = b"\n".join(records) + b"\n"
            self._wait(shard, lines, len(lines))

    def settle(self) -> None:
        """Wait until all queued records are safe on the disk."""
        for shard in self.all:
            self._push(shard)
        self._todo.join()
        self._check()
        for shard in self.all:
            os.fsync(shard.fd)

    def close(self) -> None:
        """End the thread, and close the files."""
        self._todo.put(None)
        self._thread.join()
        self._close()

    def _wait(self, shard: ShardFile, data: bytes, size: int) -> None:
        shard.waiting.append(data)
        shard.bytes += size
        if shard.bytes >= self._large:
            self._push(shard)

    def _push(self, shard: ShardFile) -> None:
        self._check()
        if shard.waiting:
            data = encode_chunk(shard.waiting, NONE) if self._recordio else b"".join(shard.waiting)
            shard.waiting, shard.bytes = [], 0
            self._todo.put((shard, data))

    def _check(self) -> None:
        if self._failure:
            raise self._failure

    def _work(self) -> None:
        while True:
            todo = self._todo.get()
            if todo is None:
                return
            shard, data = todo
            if not self._failure:
                try:
                    left = memoryview(data)
                    while left:
                        left = left[os.write(shard.fd, left) :]
                    shard.took(data)
                except OSError as error:
                    self._failure = OSError(error.errno, os.strerror(error.errno or 0), shard.path)
            self._todo.task_done()

    def _close(self) -> None:
        for shard in self.all:
            os.close(shard.fd)


def path_in(directory: str, number: int) -> str:
    """Return the path of an unfinished shard."""
    return os.path.join(directory, f"part-{number:05d}")
