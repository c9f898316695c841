"""A small file system in memory, mounted for real (FUSE), that hangs or refuses when a test says so."""

from __future__ import annotations

import ctypes
import errno
import os
import select
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

LOOKUP, FORGET, GETATTR, MKDIR, OPEN, WRITE, RELEASE, FLUSH, INIT, OPENDIR, RELEASEDIR, CREATE, INTERRUPT, FORGETS = (
    1, 2, 3, 9, 14, 16, 18, 25, 26, 27, 29, 35, 36, 42,
)  # fmt: skip
MAX_WRITE = 128 * 1024
FOR_EVER = 1 << 40
MNT_DETACH = 2
LIBC = ctypes.CDLL(None, use_errno=True)


class HangingVolume:
    """Takes directories and files that are written to."""

    def __init__(self, where: Path, *, flushes: bool) -> None:
        self.where = where
        self._files: dict[str, bytearray] = {}
        self.refuses = 0  # the errno of every write and every new file
        self.refuses_close = 0
        self._nodes = {1: (stat.S_IFDIR | 0o755, "")}
        self._children: dict[tuple[int, str], int] = {}
        self._device = os.open("/dev/fuse", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        options = f"fd={self._device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        if LIBC.mount(b"hanging", os.fsencode(where), b"fuse.hanging", 0, options):
            os.close(self._device)
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._over = os.eventfd(0)
        self._turn = threading.Lock()
        self._answers: dict[int, Callable[[int, bytes], bytes]] = {
            INIT: self._init,
            LOOKUP: self._lookup,
            GETATTR: lambda node, _: struct.pack("QII", FOR_EVER, 0, 0) + self._attributes(node),
            MKDIR: lambda node, said: self._make(node, said[8:], stat.S_IFDIR | 0o755),
            CREATE: lambda node, said: self._make(node, said[16:], *struct.unpack_from("I", said, 4)) + bytes(16),
            OPEN: lambda node, said: bytes(16),
            OPENDIR: lambda node, said: bytes(16),
            WRITE: self._write,
            FLUSH: lambda node, said: self._flush() if flushes else self._fail(errno.ENOSYS),
            RELEASE: lambda node, said: b"",
            RELEASEDIR: lambda node, said: b"",
        }
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        (where / "first").touch()  # now the kernel knows whether to flush
        del self._files["first"]

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Answer nothing as long as the body runs."""
        with self._turn:
            yield

    def read(self, name: str) -> bytes:
        """Return what a file holds, nothing where there is none."""
        return bytes(self._files.get(name, b""))

    def close(self) -> None:
        os.eventfd_write(self._over, 1)
        self._thread.join()
        os.close(self._device)  # ends the connection, and every wait for it
        os.close(self._over)
        LIBC.umount2(os.fsencode(self.where), MNT_DETACH)

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._device, select.POLLIN)
        poll.register(self._over, select.POLLIN)
        while all(descriptor != self._over for descriptor, _ in poll.poll()):
            with self._turn, suppress(BlockingIOError, FileNotFoundError):  # what was asked may be taken back
                self._answer(os.read(self._device, MAX_WRITE + 8192))

    def _answer(self, said: bytes) -> None:
        _, asked, unique, node = struct.unpack_from("IIQQ", said)
        if asked in (FORGET, FORGETS, INTERRUPT):
            return
        error, out = 0, b""
        try:
            out = self._answers[asked](node, said[40:]) if asked in self._answers else self._fail(errno.ENOSYS)
        except OSError as failure:
            error = failure.errno or errno.EIO
        os.write(self._device, struct.pack("IiQ", 16 + len(out), -error, unique) + out)

    def _fail(self, number: int) -> bytes:
        raise OSError(number, os.strerror(number))

    def _flush(self) -> bytes:
        return self._fail(self.refuses_close) if self.refuses_close else b""

    def _init(self, _node: int, _said: bytes) -> bytes:
        big_writes = 1 << 5
        return struct.pack("IIIIHHIIHHI28x", 7, 31, 0, big_writes, 12, 9, MAX_WRITE, 1, 0, 0, 0)

    def _lookup(self, node: int, said: bytes) -> bytes:
        child = self._children.get((node, said[:-1].decode()))
        return self._entry(child) if child else self._fail(errno.ENOENT)

    def _make(self, node: int, name: bytes, mode: int) -> bytes:
        if self.refuses:
            self._fail(self.refuses)
        child = len(self._nodes) + 1
        path = f"{self._nodes[node][1]}/{name[:-1].decode()}".lstrip("/")
        self._nodes[child] = (mode, path)
        self._children[node, name[:-1].decode()] = child
        if stat.S_ISREG(mode):
            self._files[path] = bytearray()
        return self._entry(child)

    def _entry(self, node: int) -> bytes:
        return struct.pack("QQQQII", node, 0, FOR_EVER, FOR_EVER, 0, 0) + self._attributes(node)

    def _attributes(self, node: int) -> bytes:
        mode, path = self._nodes[node]
        return struct.pack("QQQQQQIIIIIIIIII", node, len(self._files.get(path, b"")), *[0] * 7, mode, 1, *[0] * 5)

    def _write(self, node: int, said: bytes) -> bytes:
        if self.refuses:
            self._fail(self.refuses)
        (at,) = struct.unpack_from("Q", said, 8)
        data = said[40:]
        self._files[self._nodes[node][1]][at : at + len(data)] = data
        return struct.pack("II", len(data), 0)


@contextmanager
def hanging_volume(where: Path, *, flushes: bool = False) -> Iterator[HangingVolume]:
    """Mount one for as long as the body runs, or skip the test where this machine does not let it.

    One that `flushes` is asked at each close. The kernel waits for that answer even at the end of a process, and
    nothing ends that wait but the answer, while any other wait for this file system ends with the process.
    """
    where.mkdir(parents=True, exist_ok=True)
    try:
        volume = HangingVolume(where, flushes=flushes)
    except OSError as error:
        pytest.skip(f"cannot mount a FUSE file system here: {error}")
    try:
        yield volume
    finally:
        volume.close()
