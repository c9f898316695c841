"""What a late volume answers to those who write: files and directories are made, written, renamed and removed."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Mapping
from pathlib import Path

SETATTR, MKDIR, UNLINK, RMDIR, RENAME, WRITE, FSYNC, CREATE, RENAME2 = 4, 9, 10, 11, 12, 16, 20, 35, 45
MODE, SIZE = 1 << 0, 1 << 3  # of what SETATTR may change

Answer = Callable[[Path, bytes], bytes]


class Writing:
    """The writing half: it changes the tree, and what is remembered of it."""

    def __init__(
        self, nodes: dict[int, Path], numbers: dict[Path, int], changed: Callable[[Path], None],
        entry: Callable[[Path], bytes], attributes: Callable[[Path], bytes],
    ) -> None:  # fmt: skip
        self._nodes, self._numbers, self._changed, self._entry, self._attributes = (
            nodes, numbers, changed, entry, attributes,
        )  # fmt: skip

    def answers(self) -> Mapping[int, Answer]:
        """Return what is answered to whom."""
        return {
            CREATE: self._create,
            WRITE: self._write,
            SETATTR: self._set,
            MKDIR: self._make,
            RENAME: lambda at, said: self._rename(at, said, 8),
            RENAME2: lambda at, said: self._rename(at, said, 16),
            UNLINK: lambda at, said: self._gone(at, said, os.unlink),
            RMDIR: lambda at, said: self._gone(at, said, os.rmdir),
            FSYNC: lambda _, __: b"",
        }

    def _create(self, at: Path, said: bytes) -> bytes:
        _, mode, umask, _ = struct.unpack_from("IIII", said)
        path = at / os.fsdecode(said[16:-1])
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & ~umask & 0o777))
        self._changed(path)
        return self._entry(path) + bytes(16)

    def _write(self, at: Path, said: bytes) -> bytes:
        _, offset, size = struct.unpack_from("QQI", said)
        with at.open("r+b") as file:
            file.seek(offset)
            file.write(said[40 : 40 + size])
        self._changed(at)
        return struct.pack("II", size, 0)

    def _set(self, at: Path, said: bytes) -> bytes:
        (valid,) = struct.unpack_from("I", said)
        if valid & SIZE:
            os.truncate(at, struct.unpack_from("Q", said, 16)[0])
        if valid & MODE:
            at.chmod(struct.unpack_from("I", said, 68)[0] & 0o7777)
        self._changed(at)
        return self._attributes(at)

    def _make(self, at: Path, said: bytes) -> bytes:
        mode, umask = struct.unpack_from("II", said)
        path = at / os.fsdecode(said[8:-1])
        path.mkdir(mode & ~umask & 0o777)
        return self._entry(path)

    def _rename(self, at: Path, said: bytes, names: int) -> bytes:
        old, new = said[names:-1].split(b"\0")
        source = at / os.fsdecode(old)
        target = self._nodes[struct.unpack_from("Q", said)[0]] / os.fsdecode(new)
        source.rename(target)
        self._forget(target)
        if number := self._numbers.pop(source, None):
            self._numbers[target], self._nodes[number] = number, target
        self._changed(source)
        return b""

    def _gone(self, at: Path, said: bytes, remove: Callable[[Path], None]) -> bytes:
        path = at / os.fsdecode(said[:-1])
        remove(path)
        self._forget(path)
        return b""

    def _forget(self, path: Path) -> None:
        self._numbers.pop(path, None)
        self._changed(path)
