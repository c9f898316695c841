"""How one file is copied: opened without following a link, checked to be at rest, marked as whole at the very end."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from launcher.contract import MANIFEST
from launcher.dataset.manifest import Entry
from launcher.pod.data.hashing import BLOCK, Ring, sha256_of
from launcher.pod.outcome import ShardError
from launcher.safefs.dirs import FILE, Dir, Found, kind_of, opened
from launcher.safefs.refusals import naming
from launcher.text import shown

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
UNFINISHED = 0o200  # the mode of a file on its way: a whole one can be read
CHANGES = (
    "changes while it is copied: expected files that nobody writes to; start the job again when they are complete"
)
DIFFERS = (
    f"is not the file that {MANIFEST} lists, by its SHA-256: expected it as it was split; "
    "split the data again, or copy it to the volume again"
)

Read = Callable[[int, Sequence[bytearray]], int]
Open = tuple[int, str]  # a descriptor, and the path for messages


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCopier:
    """Copies files; `count` is told of bytes as they come, and takes them back with a file that is begun again."""

    count: Callable[[int], None]
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
            raise ShardError(f"{shown(found.path)} {wrong}")

    def _is_whole(self, found: Found, into: Dir, entry: Entry | None) -> bool:
        source, target = _stat(found.name, found.at), _stat(found.name, into)
        if _signs(source) != _signs(target) or stat.S_IMODE(target.st_mode) != _mode(source):
            return False
        if entry:
            path = f"{into.path}/{found.name}"
            with opened(path, FILE, name=found.name, at=into.fd) as file, naming(path):
                if sha256_of(file, self._ring().block()) != entry.sha256:
                    return False
        self.count(source.st_size)
        return True

    def _once(self, found: Found, into: Dir, entry: Entry | None) -> str:
        """Copy a file, and return what is wrong with the copy, nothing where it is whole and was at rest."""
        path, there = found.path, f"{into.path}/{found.name}"
        with opened(path, FILE, name=found.name, at=found.at.fd) as source:
            before = _facts(source, path)
            if not stat.S_ISREG(before.st_mode):
                kind_of(before.st_mode, path)  # which refuses the worst
                return CHANGES
            digest = hashlib.sha256() if entry else None
            with opened(there, NEW, name=found.name, at=into.fd, mode=UNFINISHED) as target:
                copied = self._content((source, path), (target, there), before.st_size, digest)
                whole = copied == before.st_size and _signs(before) == _signs(_facts(source, path))
                wrong = "" if whole else CHANGES
                if whole and entry and digest and digest.hexdigest() != entry.sha256:
                    wrong = DIFFERS
                if not wrong:
                    _seal(target, before, there)
        if wrong:
            _discard(found.name, into)
            self.count(-copied)
        return wrong

    def _content(self, source: Open, target: Open, size: int, digest: hashlib._Hash | None) -> int:
        ring, copied = self._ring(), 0
        try:
            while copied < size:
                block = ring.block()
                with naming(source[1]):
                    count = self.read(source[0], [block])
                if not count:
                    break
                data = memoryview(block)[:count]
                if digest:
                    ring.hash(data, digest.update, alone=size <= BLOCK)
                with naming(target[1]):
                    _write(target[0], data)
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


def _seal(target: int, source: os.stat_result, path: str) -> None:
    """Mark a file as whole, its mode last: a later start keeps what has its source's size, time and mode."""
    with naming(path):
        os.utime(target, ns=(source.st_atime_ns, source.st_mtime_ns))
        os.fchmod(target, _mode(source))


def _discard(name: str, into: Dir) -> None:
    with naming(f"{into.path}/{name}"), suppress(FileNotFoundError):
        os.unlink(name, dir_fd=into.fd)


def _mode(source: os.stat_result) -> int:
    # No setuid, setgid or sticky bit comes from a volume; and who copied a file must be able to read it.
    return source.st_mode & 0o777 | stat.S_IRUSR


def _signs(info: os.stat_result) -> tuple[int, int]:
    return info.st_size, info.st_mtime_ns


def _facts(source: int, path: str) -> os.stat_result:
    with naming(path):
        return os.fstat(source)


def _stat(name: str, at: Dir) -> os.stat_result:
    with naming(f"{at.path}/{name}"):
        return os.stat(name, dir_fd=at.fd, follow_symlinks=False)
