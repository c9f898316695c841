"""A file system in memory (FUSE) that has all that a job asks of its volume, and hangs when a test says so."""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.hanging import FOR_EVER, HangingVolume

SETATTR, UNLINK, RMDIR, RENAME, LINK, READ, READDIR, RENAME2 = 4, 10, 11, 12, 13, 15, 28, 45
SIZE_SET = 1 << 3


class WholeVolume(HangingVolume):
    """As a hanging volume, and what was written can be read, listed, linked, renamed and removed."""

    def __init__(self, where: Path) -> None:
        self._contents: dict[int, bytearray] = {}
        self._modes = {1: stat.S_IFDIR | 0o755}
        self.refuses_reads = 0  # the errno of every read
        super().__init__(where, flushes=False)

    def _answer(self, said: bytes) -> None:
        self._answers |= {
            SETATTR: self._set,
            UNLINK: lambda node, name: self._remove(node, name),
            RMDIR: lambda node, name: self._remove(node, name),
            RENAME: lambda node, said: self._rename(node, said[:8], said[8:]),
            RENAME2: lambda node, said: self._rename(node, said[:8], said[16:]),
            LINK: self._link,
            READ: self._read,
            READDIR: self._list,
        }
        super()._answer(said)

    def _make(self, node: int, name: bytes, mode: int) -> bytes:
        child = len(self._modes) + 1
        self._modes[child], self._contents[child] = mode, bytearray()
        self._children[node, name[:-1].decode()] = child
        self._files[name[:-1].decode()] = self._contents[child]  # the name of the first one is looked for there
        return self._entry(child)

    def _attributes(self, node: int) -> bytes:
        links = max(1, list(self._children.values()).count(node))
        size = len(self._contents.get(node, b""))
        return struct.pack("QQQQQQIIIIIIIIII", node, size, *[0] * 7, self._modes[node], links, *[0] * 5)

    def _write(self, node: int, said: bytes) -> bytes:
        (at,), data = struct.unpack_from("Q", said, 8), said[40:]
        content = self._contents[node]
        content.extend(bytes(max(0, at - len(content))))
        content[at : at + len(data)] = data
        return struct.pack("II", len(data), 0)

    def _set(self, node: int, said: bytes) -> bytes:
        valid, _, _, size = struct.unpack_from("IIQQ", said)
        if valid & SIZE_SET:
            content = self._contents[node]
            del content[size:]
            content.extend(bytes(size - len(content)))
        return struct.pack("QII", FOR_EVER, 0, 0) + self._attributes(node)

    def _read(self, node: int, said: bytes) -> bytes:
        _, at, size = struct.unpack_from("QQI", said)
        if self.refuses_reads:
            self._fail(self.refuses_reads)
        return bytes(self._contents[node][at : at + size])

    def _list(self, node: int, said: bytes) -> bytes:
        _, skipped, size = struct.unpack_from("QQI", said)
        out = b""
        entries = [(name.encode(), child) for (parent, name), child in self._children.items() if parent == node]
        for number, (name, child) in enumerate(entries[skipped:], start=skipped + 1):
            entry = struct.pack("QQII", child, number, len(name), self._modes[child] >> 12) + name
            entry += bytes(-len(entry) % 8)
            if len(out) + len(entry) > size:
                break
            out += entry
        return out

    def _remove(self, node: int, name: bytes) -> bytes:
        if not self._children.pop((node, name[:-1].decode()), None):
            self._fail(errno.ENOENT)
        return b""

    def _rename(self, node: int, to: bytes, names: bytes) -> bytes:
        old, new, _ = names.split(b"\0")
        self._children[struct.unpack("Q", to)[0], new.decode()] = self._children.pop((node, old.decode()))
        return b""

    def _link(self, node: int, said: bytes) -> bytes:
        (child,) = struct.unpack_from("Q", said)
        if (node, said[8:-1].decode()) in self._children:
            self._fail(errno.EEXIST)
        self._children[node, said[8:-1].decode()] = child
        return self._entry(child)


@contextmanager
def whole_volume(where: Path) -> Iterator[WholeVolume]:
    """Mount one for as long as the body runs, or skip the test where this machine does not let it."""
    where.mkdir(parents=True, exist_ok=True)
    try:
        volume = WholeVolume(where)
    except OSError as error:
        pytest.skip(f"cannot mount a FUSE file system here: {os.strerror(error.errno or 0)}")
    try:
        yield volume
    finally:
        volume.close()
