"""One file on its way in: under a name of its own until it is whole, and then at once what it is called."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Callable
from functools import partial

from launcher.files.channel import Channel
from launcher.files.chunks import CHUNK, DIGEST, Standing, chunk_of, digests
from launcher.files.counting import Count, Tell
from launcher.files.frames import Frame
from launcher.files.listing import Entry
from launcher.files.names import a_part, divided, part_of, shown
from launcher.files.problem import Garbled, Trouble
from launcher.files.tree import READ, Tree, told

WRITE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
ANYBODY, RUNS = 0o666, 0o777  # less what the umask takes away
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


def standing(within: int, path: str, size: int) -> Standing:
    """Return what is there of a file; anything else of its name is in the way. Its directory is closed."""
    name = divided(path)[1]
    try:
        if size > CHUNK and (part := _read(within, part_of(name), size, whole=False)).digests:
            return part
        there = os.stat(name, dir_fd=within, follow_symlinks=False)
        if not stat.S_ISREG(there.st_mode):
            what = "a directory" if stat.S_ISDIR(there.st_mode) else "a link, or no plain file,"
            raise Trouble(f"{shown(path)}: {what} of this name is there already: remove it, or take another place")
        return _read(within, name, size, whole=True) if there.st_size == size else Standing()
    except FileNotFoundError:
        return Standing()
    finally:
        os.close(within)


def arrive(
    tree: Tree, path: str, entry: Entry, index: int, found: Standing, channel: Channel, count: Count, tell: Tell
) -> Callable[[], None]:
    """Take a file from the channel, and return what is left to do: a small one is yet to be written.

    One that the other end cannot send is told as lost.
    """
    frame = _next(channel, index, count)
    if frame is None:
        return _nothing
    start = _start(frame, entry, found)
    count.bytes += start
    if found.whole and start == entry.size:
        return _nothing
    if "digest" in frame.head and not start and entry.size <= CHUNK:
        count.bytes += len(frame.body)
        count.came += len(frame.body)
        return partial(_at_once, tree.lent(path), path, entry, frame)
    within = tree.directory(divided(path)[0])
    _in_pieces(within, path, entry, index, found, start, frame, channel, count, tell)
    return _nothing


def _nothing() -> None:
    """Do nothing more."""


def _at_once(within: int, path: str, entry: Entry, frame: Frame) -> None:
    """Write a file that has come whole; its directory is closed."""
    part = a_part()  # a name that nobody else has needs no lock, and no look at what is there
    try:
        _checked(entry, frame, len(frame.body), hashlib.sha256(frame.body).hexdigest())
        with told(path, "written"):
            file = os.open(part, WRITE | os.O_EXCL, RUNS if entry.runs else ANYBODY, dir_fd=within)
            try:
                _put(file, frame.body, 0)
                os.rename(part, divided(path)[1], src_dir_fd=within, dst_dir_fd=within)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(part, dir_fd=within)
                raise
            finally:
                os.close(file)
    finally:
        os.close(within)


def _in_pieces(
    within: int, path: str, entry: Entry, index: int, found: Standing, start: int, frame: Frame,
    channel: Channel, count: Count, tell: Tell,
) -> None:  # fmt: skip
    name = divided(path)[1]
    large = entry.size > CHUNK
    # What is not large is not gone on with.
    part, flags = (part_of(name), WRITE) if large else (a_part(), WRITE | os.O_EXCL)
    with told(path, "written"):
        file = os.open(part, flags, RUNS if entry.runs else ANYBODY, dir_fd=within)
        there = False
        try:
            if large:
                _alone(file, within, part, path)
                _to_go_on(file, start, found, path)
            if _written(file, frame, entry, index, start, channel, count, tell):
                os.rename(part, name, src_dir_fd=within, dst_dir_fd=within)
                there = True
        finally:
            if not there and (not large or os.fstat(file).st_size < CHUNK):  # nothing of it would be of use again
                with contextlib.suppress(OSError):
                    os.unlink(part, dir_fd=within)
            os.close(file)


def _start(frame: Frame, entry: Entry, found: Standing) -> int:
    """Return from where the other end sends: where what is there ends to be the same."""
    start = frame.number("start", entry.size)
    chunk = chunk_of(entry.size)
    at_an_end = start == entry.size if found.whole else start % chunk == 0
    if start and not (at_an_end and start <= len(found.digests) // DIGEST * chunk):
        raise Garbled("a file goes on where nothing of it ends")
    return start


def _written(
    file: int, frame: Frame | None, entry: Entry, index: int, start: int, channel: Channel, count: Count, tell: Tell
) -> bool:
    """Write what comes until the file is whole, and return whether it ever was."""
    digest = hashlib.sha256()
    at = start
    while frame is not None:
        if at + len(frame.body) > entry.size:
            raise Garbled("a file is longer than was said")
        at += _put(file, frame.body, at)
        digest.update(frame.body)
        count.bytes += len(frame.body)
        count.came += len(frame.body)
        tell(count)
        if "digest" in frame.head:
            _checked(entry, frame, at, digest.hexdigest())
            return True
        frame = _next(channel, index, count)
    return False


def _checked(entry: Entry, frame: Frame, size: int, digest: str) -> None:
    if size != entry.size or frame.text("digest") != digest:
        raise Trouble(f"{shown(entry.path)} is not what was sent: say the same again")


def _put(file: int, data: bytes, at: int) -> int:
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, at)
        at += written
        view = view[written:]
    return len(data)


def _next(channel: Channel, index: int, count: Count) -> Frame | None:
    frame = channel.get("data", "lost")
    if frame.number("at") != index:
        raise Garbled("another file comes than was asked for")
    if frame.kind == "lost":
        count.lost.append(shown(frame.text("why")))
        return None
    return frame


def _alone(file: int, directory: int, part: str, path: str) -> None:
    """See that nobody else brings the same file now; volumes without locks are trusted."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        raise Trouble(f"{shown(path)}: what it is called until it is whole is no plain file: remove it")
    busy = Trouble(f"{shown(path)} is being written by another copy: wait for that, or end it")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(part, dir_fd=directory, follow_symlinks=False).st_ino != found.st_ino:
            raise busy  # that one has just become whole, and has its own name
    except (BlockingIOError, FileNotFoundError):
        raise busy from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise


def _to_go_on(file: int, start: int, found: Standing, path: str) -> None:
    """Keep of a part what is known to be right."""
    if start and found.stamp != stamp(os.fstat(file)):
        raise Trouble(f"{shown(path)} was written by another copy meanwhile: say the same again")
    os.ftruncate(file, start)


def stamp(found: os.stat_result) -> tuple[int, ...]:
    """Return what changes whenever a file is written."""
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read(directory: int, name: str, size: int, *, whole: bool) -> Standing:
    try:
        file = os.open(name, READ, dir_fd=directory)
    except OSError:
        return Standing()
    try:
        there = os.fstat(file)
        if not stat.S_ISREG(there.st_mode):
            return Standing()
        have = size if whole else min(there.st_size, size - size % chunk_of(size))
        return Standing(digests(file, size, have), whole, stamp(there))
    finally:
        os.close(file)
