"""How one file is copied: opened without following a link, checked to be at rest, marked as whole at the very end."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from launcher.pod.outcome import ShardError
from launcher.pod.staging.refusal import naming, shown
from launcher.pod.staging.tree import FILE, Dir, Found, Kind, kind_of, opened

BLOCK = 1 << 20
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
UNFINISHED = 0o200  # the mode of a file on its way: a whole one can be read

Read = Callable[[int, Sequence[bytearray]], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCopier:
    """Copies files; `count` is told of bytes as they come, and takes them back with a file that is begun again."""

    count: Callable[[int], None]
    read: Read = os.readv
    block: bytearray = field(default_factory=lambda: bytearray(BLOCK))

    def copy(self, found: Found, into: Dir, *, present: bool) -> None:
        """Copy a file, or keep an earlier copy that is whole."""
        if present:
            source, target = _stat(found.name, found.at), _stat(found.name, into)
            if _signs(source) == _signs(target) and stat.S_IMODE(target.st_mode) == _mode(source):
                self.count(source.st_size)
                return
            _discard(found.name, into)
        if not self._once(found, into) and not self._once(found, into):
            raise ShardError(
                f"{shown(found.path)} changes while it is copied: "
                "expected files that nobody writes to; start the job again when they are complete"
            )

    def _once(self, found: Found, into: Dir) -> bool:
        """Copy a file and return whether it is whole and was at rest meanwhile."""
        with opened(found.path, FILE, name=found.name, at=found.at.fd) as source:
            before = _facts(source, found)
            if kind_of(before.st_mode, found.path) is not Kind.FILE:
                return False
            with _new(found.name, into) as target:
                copied = self._content(source, target, before.st_size, found, into)
                whole = copied == before.st_size and _signs(before) == _signs(_facts(source, found))
                if whole:
                    _seal(target, before, f"{into.path}/{found.name}")
        if not whole:
            _discard(found.name, into)
            self.count(-copied)
        return whole

    def _content(self, source: int, target: int, size: int, found: Found, into: Dir) -> int:
        copied = 0
        while copied < size:
            with naming(found.path):
                count = self.read(source, [self.block])
            if not count:
                break
            with naming(f"{into.path}/{found.name}"):
                _write(target, memoryview(self.block)[:count])
            copied += count
            self.count(count)
        return copied


@contextmanager
def _new(name: str, into: Dir) -> Iterator[int]:
    """Make a file, and remove it again on any failure: the last may come with its close."""
    try:
        with opened(f"{into.path}/{name}", NEW, name=name, at=into.fd, mode=UNFINISHED) as target:
            yield target
    except ShardError:
        with suppress(ShardError):
            _discard(name, into)
        raise


def _write(target: int, data: memoryview) -> None:
    while data:
        data = data[os.write(target, data) :]


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


def _facts(source: int, found: Found) -> os.stat_result:
    with naming(found.path):
        return os.fstat(source)


def _stat(name: str, at: Dir) -> os.stat_result:
    with naming(f"{at.path}/{name}"):
        return os.stat(name, dir_fd=at.fd, follow_symlinks=False)
