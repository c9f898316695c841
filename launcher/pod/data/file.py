"""How one file is copied: opened without following a link, checked to be at rest, marked as whole at the very end."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from launcher.contract import MANIFEST
from launcher.dataset.manifest import Entry
from launcher.pod.outcome import ShardError
from launcher.safefs.dirs import Dir, opened
from launcher.safefs.overlay import Found
from launcher.safefs.refusals import naming

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_BLOCK = (
    256 << 10
)  # still in the cache when the thread beside hashes it: twice as fast as 1 MiB with a busy neighbour
RING = 8
UNFINISHED = 0o200  # the mode of a file on its way: a whole one can be read
CHANGES = (
    "changes while it is copied: expected a file that no program writes to; run the job again when it is complete"
)
DIFFERS = (
    f"is not the file that {MANIFEST} lists (its SHA-256 differs): expected it as it was split; "
    "split the data again, or copy it to the volume again"
)

Read = Callable[[int, Sequence[bytearray]], int]


class Ring:
    """Blocks to read into, in turn; each is free again when its content is hashed."""

    def __init__(self, beside: ThreadPoolExecutor | None) -> None:
        self._beside = beside
        self._blocks = [bytearray(_BLOCK) for _ in range(RING if beside else 1)]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCopier:
    """Copies files; `count` gets the bytes as they are copied, and less than nothing where a file is begun again.

    `kept` gets those of a file that need not be copied.
    """

    count: Callable[[int], None]
    kept: Callable[[int], None]
    read: Read = os.readv
    beside: ThreadPoolExecutor | None = None
    rings: threading.local = field(default_factory=threading.local)

    def copy(self, found: Found, into: Dir, *, present: bool, entry: Entry | None = None) -> None:
        """Copy a file, or keep an earlier copy that is whole; hold it against what the manifest lists."""
        if present:
            if self._is_whole(found, into, entry):
                return
            _discard(found.name, into)
        try:
            wrong = self._once(found, into, entry) and self._once(found, into, entry)
        except ShardError:
            with suppress(ShardError):
                _discard(found.name, into)
            raise
        if wrong:
            raise found.at.refused(found.name, wrong)

    def _is_whole(self, found: Found, into: Dir, entry: Entry | None) -> bool:
        source, target = _stat(found.name, found.at), _stat(found.name, into)
        if _signs(source) != _signs(target) or stat.S_IMODE(target.st_mode) != _mode(source):
            return False
        if entry:
            with opened(into, found.name) as file:
                if sha256_of(file, self._ring().block()) != entry.sha256:
                    return False
        self.kept(source.st_size)
        return True

    def _once(self, found: Found, into: Dir, entry: Entry | None) -> str:
        """Copy a file, and return what is wrong with the copy, nothing where it is whole and was at rest."""
        with opened(found.at, found.name) as source:
            before, name = os.fstat(source), found.at.naming(found.name)
            digest = hashlib.sha256() if entry else None
            with opened(into, found.name, _NEW, mode=UNFINISHED) as target:
                copied = self._content(source, name, target, before.st_size, digest)
                whole = copied == before.st_size and _signs(before) == _signs(_facts(source, name))
                wrong = "" if whole else CHANGES
                if whole and entry and digest and digest.hexdigest() != entry.sha256:
                    wrong = DIFFERS
                if not wrong:
                    _seal(target, before)
        if wrong:
            _discard(found.name, into)
            self.count(-copied)
        return wrong

    def _content(self, source: int, name: naming, target: int, size: int, digest: hashlib._Hash | None) -> int:
        ring, copied = self._ring(), 0
        try:
            while copied < size:
                block = ring.block()
                with name:
                    count = self.read(source, [block])
                if not count:
                    break
                data = memoryview(block)[:count]
                if digest:
                    ring.hash(data, digest.update, alone=size <= _BLOCK)
                _write(target, data)
                copied += count
                self.count(count)
        finally:
            ring.settle()
        return copied

    def _ring(self) -> Ring:
        if not hasattr(self.rings, "mine"):
            self.rings.mine = Ring(self.beside)
        mine: Ring = self.rings.mine
        return mine


def _write(target: int, data: memoryview) -> None:
    while (written := os.write(target, data)) < len(data):
        data = data[written:]


def _seal(target: int, source: os.stat_result) -> None:
    """Mark a file as whole, its mode last: a later start keeps what has its source's size, time and mode."""
    os.utime(target, ns=(source.st_atime_ns, source.st_mtime_ns))
    os.fchmod(target, _mode(source))


def _discard(name: str, into: Dir) -> None:
    with into.naming(name), suppress(FileNotFoundError):
        os.unlink(name, dir_fd=into.fd)


def _mode(source: os.stat_result) -> int:
    # No setuid, setgid or sticky bit comes from a volume; and who copied a file must be able to read it.
    return source.st_mode & 0o777 | stat.S_IRUSR


def _signs(info: os.stat_result) -> tuple[int, int]:
    return info.st_size, info.st_mtime_ns


def _facts(source: int, name: naming) -> os.stat_result:
    with name:
        return os.fstat(source)


def _stat(name: str, at: Dir) -> os.stat_result:
    with at.naming(name):
        return os.stat(name, dir_fd=at.fd, follow_symlinks=False)
