"""A directory shown as a network volume would show it: each operation is answered some milliseconds late (FUSE).

Run as `python -m bench.data_volume SOURCE WHERE MILLISECONDS`; mounted until its stdin ends.
"""

from __future__ import annotations

import ctypes
import errno
import heapq
import os
import select
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.data_volume_writing import Writing
from bench.processes import PATIENCE, Unheard

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, FORGETS = (
    1, 2, 3, 14, 15, 17, 18, 26, 27, 28, 29, 36, 42,
)  # fmt: skip
ASYNC_READ, PARALLEL_DIROPS = 1 << 0, 1 << 18
LARGEST = 1 << 20
REMEMBERED = 3  # seconds that names and attributes are kept, as NFS does
MNT_DETACH = 2
LIBC = ctypes.CDLL(None, use_errno=True)


class Volume:
    """Answers the kernel's questions about a tree, each when it is due."""

    def __init__(self, source: Path, where: Path, late: float) -> None:
        self._nodes = {1: source}
        self._numbers = {source: 1}
        self._late = late
        self._known: dict[Path, bytes] = {}  # attributes: nothing changes meanwhile, and the answers are to be quick
        self._contents: dict[Path, bytes] = {}
        self._due: list[tuple[float, int, bytes]] = []
        self._device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self._device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        if LIBC.mount(b"late", os.fsencode(where), b"fuse.late", 0, options):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._answers: dict[int, Callable[[Path, bytes], bytes]] = {
            INIT: lambda _, __: struct.pack(
                "IIIIHHIIHHI28x", 7, 31, LARGEST, ASYNC_READ | PARALLEL_DIROPS, 64, 48, LARGEST, 1, 0, 0, 0
            ),
            LOOKUP: lambda at, said: self._found(at / os.fsdecode(said[:-1])),
            GETATTR: lambda at, _: self._told(at),
            OPEN: lambda _, __: bytes(16),
            OPENDIR: lambda _, __: bytes(16),
            READ: self._read,
            READDIR: self._list,
            STATFS: lambda _, __: bytes(80),
            RELEASE: lambda _, __: b"",
            RELEASEDIR: lambda _, __: b"",
            **Writing(self._nodes, self._numbers, self._changed, self._entry, self._told).answers(),
        }

    def serve(self, until: int) -> None:
        """Answer until something can be read there."""
        while True:
            wait = max(0.0, self._due[0][0] - time.monotonic()) if self._due else None
            ready, _, _ = select.select([self._device, until], [], [], wait)
            if until in ready:
                return
            if self._device in ready:
                self._ask(os.read(self._device, LARGEST + 8192))
            while self._due and self._due[0][0] <= time.monotonic():
                os.write(self._device, heapq.heappop(self._due)[2])

    def _ask(self, said: bytes) -> None:
        _, asked, unique, node = struct.unpack_from("IIQQ", said)
        if asked in (FORGET, FORGETS, INTERRUPT):
            return
        error, out = 0, b""
        try:
            if asked not in self._answers:
                raise OSError(errno.ENOSYS, "")
            out = self._answers[asked](self._nodes.get(node, self._nodes[1]), said[40:])
        except OSError as failure:
            error = failure.errno or errno.EIO
        due = time.monotonic() + (0 if asked in (INIT, RELEASE, RELEASEDIR) else self._late)
        heapq.heappush(self._due, (due, unique, struct.pack("IiQ", 16 + len(out), -error, unique) + out))

    def _found(self, path: Path) -> bytes:
        """Return what is there; that nothing is, is remembered too."""
        if path in self._known or os.path.lexists(path):
            return self._entry(path)
        return struct.pack("QQQQII", 0, 0, REMEMBERED, 0, 0, 0) + bytes(88)

    def _told(self, path: Path) -> bytes:
        return struct.pack("QII", REMEMBERED, 0, 0) + self._attributes(path)

    def _changed(self, path: Path) -> None:
        self._known.pop(path, None)
        self._contents.pop(path, None)

    def _entry(self, path: Path) -> bytes:
        attributes = self._attributes(path)
        node = self._numbers[path]
        return struct.pack("QQQQII", node, 0, REMEMBERED, REMEMBERED, 0, 0) + attributes

    def _attributes(self, path: Path) -> bytes:
        if path not in self._known:
            self._known[path] = self._asked(path)
        return self._known[path]

    def _asked(self, path: Path) -> bytes:
        info = path.lstat()
        if (node := self._numbers.get(path)) is None:
            node = self._numbers[path] = len(self._nodes) + 1
        self._nodes[node] = path
        seconds, rest = divmod(info.st_mtime_ns, 10**9)
        times = (seconds, seconds, seconds, rest, rest, rest)
        return struct.pack(
            "QQQQQQIIIIIIIIII", node, info.st_size, info.st_blocks, *times, info.st_mode, 1, 0, 0, 0, 4096, 0
        )

    def _read(self, path: Path, said: bytes) -> bytes:
        _, offset, size = struct.unpack_from("QQI", said)
        if path not in self._contents:
            self._contents[path] = path.read_bytes()
        return self._contents[path][offset : offset + size]

    def _list(self, path: Path, said: bytes) -> bytes:
        _, offset, size = struct.unpack_from("QQI", said)
        out = b""
        for number, each in enumerate(sorted(path.iterdir())[offset:], offset + 1):
            name = os.fsencode(each.name)
            kind = stat.S_IFMT(each.lstat().st_mode) >> 12
            entry = struct.pack("QQII", number + 1, number, len(name), kind) + name + bytes(-len(name) % 8)
            if len(out) + len(entry) > size:
                break
            out += entry
        return out


@contextmanager
def late_volume(source: Path, where: Path, milliseconds: float) -> Iterator[None]:
    """Show a directory late for as long as the body runs."""
    where.mkdir(exist_ok=True)
    argv = (sys.executable, "-m", "bench.data_volume", str(source), str(where), str(milliseconds))
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as server:
        deadline = time.monotonic() + PATIENCE
        while not os.path.ismount(where):
            if time.monotonic() > deadline or server.poll() is not None:
                raise Unheard("a volume that answers late could not be mounted")
            time.sleep(0.01)
        yield  # then its stdin ends, and it unmounts


def main(words: Sequence[str]) -> int:
    """Mount, answer, unmount."""
    source, where, milliseconds = words
    volume = Volume(Path(source), Path(where), float(milliseconds) / 1000)
    volume.serve(sys.stdin.fileno())
    LIBC.umount2(os.fsencode(where), MNT_DETACH)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
