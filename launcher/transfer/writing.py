"""The writing of one file: under a name of its own until it is complete, then renamed at once."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat

from launcher.safefs.dirs import Dir, what
from launcher.text import shown
from launcher.transfer.channel import Channel
from launcher.transfer.chunks import CHUNK, Standing
from launcher.transfer.counting import Count, TellCount
from launcher.transfer.frames import Frame
from launcher.transfer.listing import TreeEntry
from launcher.transfer.names import a_part, divided, part_of
from launcher.transfer.problem import Garbled, TransferError

WRITE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
ANYBODY, _RUNS = 0o666, 0o777  # less what the umask takes away
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
BUSY = "is being written by another copy"


def at_once(within: Dir, path: str, entry: TreeEntry, frame: Frame) -> None:
    """Write a file that came in one frame; its directory is closed."""
    name = divided(path)[1]
    part = a_part()  # a name that no other copy has needs no lock, and no look at what is there
    try:
        _checked(entry, frame, len(frame.body), hashlib.sha256(frame.body).hexdigest())
        with within.naming(name):
            file = os.open(part, WRITE | os.O_EXCL, _RUNS if entry.runs else ANYBODY, dir_fd=within.fd)
            try:
                _put(file, frame.body, 0)
                flushed(file)
                os.rename(part, name, src_dir_fd=within.fd, dst_dir_fd=within.fd)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(part, dir_fd=within.fd)
                raise
            finally:
                os.close(file)
    finally:
        os.close(within.fd)


def in_pieces(
    within: Dir, path: str, entry: TreeEntry, index: int, found: Standing, start: int, frame: Frame,
    channel: Channel, count: Count, tell: TellCount,
) -> None:  # fmt: skip
    """Write a file that comes in pieces; a large one is continued where an earlier copy broke off."""
    name = divided(path)[1]
    large = entry.size > CHUNK
    # Only a large file is continued.
    part, flags = (part_of(name), WRITE) if large else (a_part(), WRITE | os.O_EXCL)
    with within.naming(name):
        file = os.open(part, flags, _RUNS if entry.runs else ANYBODY, dir_fd=within.fd)
        ours, there = not large, False
        try:
            if large:
                _alone(file, within, part, name)
                ours = True
                _to_go_on(file, start, found, within, name)
                executable(file, runs=entry.runs)
            if _written(file, frame, entry, index, start, channel, count, tell):
                flushed(file)
                os.rename(part, name, src_dir_fd=within.fd, dst_dir_fd=within.fd)
                there = True
        finally:
            if ours and not there and (not large or os.fstat(file).st_size < CHUNK):  # of no use to the next one
                with contextlib.suppress(OSError):
                    os.unlink(part, dir_fd=within.fd)
            os.close(file)


def executable(file: int, *, runs: bool) -> None:
    """Make an open file executable for all that may read it, or for no one; not every volume knows the difference."""
    mode = stat.S_IMODE(os.fstat(file).st_mode)
    if runs != bool(mode & stat.S_IXUSR):
        with contextlib.suppress(OSError):
            os.fchmod(file, mode | (mode & 0o444) >> 2 if runs else mode & ~0o111)


def next_frame(channel: Channel, index: int, count: Count) -> Frame | None:
    """Return the next frame of a file; None, and counted as lost, where the other end cannot send it."""
    frame = channel.get("data", "lost")
    if frame.number("at") != index:
        raise Garbled("the other end sends a file that was not asked for")
    if frame.kind == "lost":
        count.lost.append(shown(frame.text("why")))
        return None
    return frame


def stamp(found: os.stat_result) -> tuple[int, ...]:
    """Return the facts that change whenever a file is written."""
    return found.st_ino, found.st_size, found.st_mtime_ns


def _written(
    file: int,
    frame: Frame | None,
    entry: TreeEntry,
    index: int,
    start: int,
    channel: Channel,
    count: Count,
    tell: TellCount,
) -> bool:
    """Write frames until the file is complete, and return whether it is."""
    digest = hashlib.sha256()
    at = start
    while frame is not None:
        if at + len(frame.body) > entry.size:
            raise Garbled("the other end sends more of a file than it announced")
        at += _put(file, frame.body, at)
        digest.update(frame.body)
        count.bytes += len(frame.body)
        count.came += len(frame.body)
        tell(count)
        if "digest" in frame.head:
            _checked(entry, frame, at, digest.hexdigest())
            return True
        frame = next_frame(channel, index, count)
    return False


def _checked(entry: TreeEntry, frame: Frame, size: int, digest: str) -> None:
    if size != entry.size or frame.text("digest") != digest:
        raise TransferError(f"{shown(entry.path)} arrived damaged (its digest differs): run the command again")


def _put(file: int, data: bytes, at: int) -> int:
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, at)
        at += written
        view = view[written:]
    return len(data)


def flushed(file: int) -> None:
    """Have the file on its volume: NFS says at a close, and not before, that there is no room or a disk fails."""
    os.close(os.dup(file))


def _alone(file: int, within: Dir, part: str, name: str) -> None:
    """See that no other copy brings the same file now; volumes without locks are trusted."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        raise within.refused(part, f"is {what(found.st_mode)}: remove it and run the command again")
    busy = within.refused(name, f"{BUSY}: wait until that copy has ended, or end it")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(part, dir_fd=within.fd, follow_symlinks=False).st_ino != found.st_ino:
            raise busy  # that one has just become whole, and has its own name
    except (BlockingIOError, FileNotFoundError):
        raise busy from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise


def _to_go_on(file: int, start: int, found: Standing, within: Dir, name: str) -> None:
    """Cut an unfinished file to the chunks that are known to be right."""
    if start and found.stamp != stamp(os.fstat(file)):
        raise within.refused(name, "was written by another copy meanwhile: run the command again")
    os.ftruncate(file, start)
