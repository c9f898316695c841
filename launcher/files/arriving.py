"""One file on its way in: under a name of its own until it is whole, and then at once what it is called."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat

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


def standing(tree: Tree, path: str, size: int) -> Standing:
    """Return what is there of a file; anything else of its name is in the way."""
    directory, name = divided(path)
    within = tree.directory(directory, make=True)
    if size > CHUNK and (part := _read(within, part_of(name), size, whole=False)).digests:
        return part
    there = tree.status(path)
    if there is None:
        return Standing()
    if not stat.S_ISREG(there.st_mode):
        what = "a directory" if stat.S_ISDIR(there.st_mode) else "a link, or no plain file,"
        raise Trouble(f"{shown(path)}: {what} of this name is there already: remove it, or take another place")
    return _read(within, name, size, whole=True) if there.st_size == size else Standing()


def arrive(
    tree: Tree, path: str, entry: Entry, index: int, found: Standing, channel: Channel, count: Count, tell: Tell
) -> None:
    """Take a file from the channel; one that the other end cannot send is told as lost."""
    frame = _next(channel, index, count)
    if frame is None:
        return
    start = _start(frame, entry, found)
    count.bytes += start
    if found.whole and start == entry.size:
        return
    directory, name = divided(path)
    within, large = tree.directory(directory), entry.size > CHUNK
    # Small files are not gone on with: a name that nobody else has needs no lock, and no look at what is there.
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
            if at != entry.size or frame.text("digest") != digest.hexdigest():
                raise Trouble(f"{shown(entry.path)} is not what was sent: say the same again")
            return True
        frame = _next(channel, index, count)
    return False


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
