"""One file that arrives: how much of it is there already, and how the rest is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import partial

from launcher.safefs.dirs import FILE, Dir, Tree, opened, what
from launcher.transfer.channel import Channel
from launcher.transfer.chunks import CHUNK, DIGEST, Standing, chunk_of, digests
from launcher.transfer.counting import Count, TellCount
from launcher.transfer.frames import Frame
from launcher.transfer.listing import TreeEntry
from launcher.transfer.names import divided, part_of
from launcher.transfer.problem import Garbled
from launcher.transfer.writing import at_once, executable, in_pieces, next_frame, stamp


def standing(within: Dir, path: str, size: int) -> Standing:
    """Return what is there of a file; anything else of its name is in the way. Its directory is closed."""
    name = divided(path)[1]
    try:
        with within.naming(name):
            return _standing(within, name, size)
    finally:
        os.close(within.fd)


def _standing(within: Dir, name: str, size: int) -> Standing:
    if size > CHUNK and (part := _read(within, part_of(name), size, whole=False)).digests:
        return part
    try:
        there = os.stat(name, dir_fd=within.fd, follow_symlinks=False)
    except FileNotFoundError:
        return Standing()
    if not stat.S_ISREG(there.st_mode):
        raise within.refused(name, f"is {what(there.st_mode)} already: remove it, or copy to another place")
    return _read(within, name, size, whole=True) if there.st_size == size else Standing()


def arrive(
    tree: Tree,
    path: str,
    entry: TreeEntry,
    index: int,
    found: Standing,
    channel: Channel,
    count: Count,
    tell: TellCount,
) -> Callable[[], None]:
    """Take a file from the channel, and return what is left to do: a small one is yet to be written.

    A file that the other end cannot send is counted as lost.
    """
    frame = next_frame(channel, index, count)
    if frame is None:
        return _nothing
    start = _start(frame, entry, found)
    count.bytes += start
    if found.whole and start == entry.size:
        return _nothing if found.runs == entry.runs else partial(_as_executable, tree.lent(path), path, entry.runs)
    if "digest" in frame.head and not start and entry.size <= CHUNK:
        count.bytes += len(frame.body)
        count.came += len(frame.body)
        return partial(at_once, tree.lent(path), path, entry, frame)
    within = tree.directory(divided(path)[0])
    in_pieces(within, path, entry, index, found, start, frame, channel, count, tell)
    return _nothing


def _nothing() -> None:
    """Stand for a file that is complete."""


def _as_executable(within: Dir, path: str, runs: bool) -> None:
    """Let a file that is there be run, or not; its directory is closed."""
    try:
        with opened(within, divided(path)[1]) as file:
            executable(file, runs=runs)
    finally:
        os.close(within.fd)


def _start(frame: Frame, entry: TreeEntry, found: Standing) -> int:
    """Return from where the other end sends: where what is there ends to be the same."""
    start = frame.number("start", entry.size)
    chunk = chunk_of(entry.size)
    at_an_end = start == entry.size if found.whole else start % chunk == 0
    if start and not (at_an_end and start <= len(found.digests) // DIGEST * chunk):
        raise Garbled("the other end continues a file where none of its chunks ends")
    return start


def _read(within: Dir, name: str, size: int, *, whole: bool) -> Standing:
    try:
        file = os.open(name, FILE, dir_fd=within.fd)
    except OSError:
        return Standing()
    try:
        there = os.fstat(file)
        if not stat.S_ISREG(there.st_mode):
            return Standing()
        have = size if whole else min(there.st_size, size - size % chunk_of(size))
        return Standing(digests(file, size, have), whole, stamp(there), runs=bool(there.st_mode & stat.S_IXUSR))
    finally:
        os.close(file)
