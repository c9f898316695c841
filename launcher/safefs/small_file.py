"""Small files on a shared volume: read to a limit, made by one, overwritten where they are.

The volume is hostile, stale, and may hang: plain blocking I/O for a thread of its own.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from contextlib import suppress

from launcher.safefs.dirs import Dir, opened
from launcher.safefs.refusals import is_absent

MakeLink = Callable[..., None]

LIMIT = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
IN_PLACE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
# What file systems say that know no hard links.
_FULL = (errno.ENOSPC, errno.EDQUOT)
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL)


def content(at: Dir, name: str, limit: int = LIMIT) -> bytes | None:
    """Return what a small regular file holds, None where it cannot be found."""
    try:
        with opened(at, name) as fd:
            found = read_at_most(fd, limit + 1)
    except at.refusal.error as error:
        if is_absent(error):
            return None
        raise
    if len(found) > limit:
        raise at.refused(name, f"is larger than {limit} bytes: no launcher wrote it; move it away")
    return found


def make(at: Dir, name: str, text: bytes, *, link: MakeLink = os.link, spare: str = "") -> bool:
    """Make a file under a free name, whole from its first moment; return whether this text stands there.

    On a full volume a spare file gives its room, which is not needed any more once the file stands; then what others
    had begun of it goes too, of whom one may have been killed in the middle.
    NFS may answer a link that worked with "exists": only what stands there in the end tells who was first.
    """
    new = f".{name}.{secrets.token_hex(8)}"
    if len(text) > LIMIT:
        raise at.refused(name, f"was not written: it would be larger than the {LIMIT} bytes that a launcher reads")
    with at.naming(name):
        try:
            try:
                _write_new(at, new, text)
            except OSError as error:
                if error.errno not in _FULL or not (spare and _wrote_over(at, spare, new, text)):
                    raise
            try:
                _give_name(at, new, name, text, link)
            except FileExistsError:
                pass
            except FileNotFoundError:
                if content(at, name) is None:  # else it was first who took away what was begun here
                    raise
            _remove(at, spare, *_begun(at, name))
        finally:
            _remove(at, new)
        with suppress(OSError):  # not every file system knows it, and those that need it do
            os.fsync(at.fd)
    return content(at, name) == text


def reserve(at: Dir, name: str, size: int) -> None:
    """Keep room of a size, unless it is kept already."""
    with opened(at, name, IN_PLACE, mode=0o644) as fd:
        if os.fstat(fd).st_size < size:
            _write(fd, secrets.token_bytes(size))  # of zeros some file systems keep no blocks
            os.fsync(fd)


def overwrite(at: Dir, name: str, text: bytes) -> None:
    """Write a few bytes over a file where it is; of the same length each time, they are never seen half."""
    with opened(at, name, IN_PLACE, mode=0o644) as fd:
        os.pwrite(fd, text, 0)
        os.fsync(fd)


def put_whole(at: Dir, name: str, text: bytes) -> None:
    """Put a text in the place of a file: whoever reads it meanwhile has the one or the other."""
    new = f".{name}.{secrets.token_hex(8)}"
    with at.naming(name):
        _write_new(at, new, text)
        os.rename(new, name, src_dir_fd=at.fd, dst_dir_fd=at.fd)


def read_at_most(fd: int, limit: int) -> bytes:
    """Read an open file, to its end or up to a limit."""
    found = b""
    while len(found) < limit and (block := os.read(fd, limit - len(found))):
        found += block
    return found


def _begun(at: Dir, name: str) -> list[str]:
    with suppress(OSError):
        return [each for each in os.listdir(at.fd) if each.startswith(f".{name}.")]  # noqa: PTH208  # by its descriptor
    return []


def _remove(at: Dir, *names: str) -> None:
    for each in filter(None, names):
        with suppress(OSError):
            os.unlink(each, dir_fd=at.fd)


def _give_name(at: Dir, new: str, name: str, text: bytes, link: MakeLink) -> None:
    try:
        link(new, name, src_dir_fd=at.fd, dst_dir_fd=at.fd, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        _write_new(at, name, text)


def _write_new(at: Dir, name: str, text: bytes) -> None:
    fd = os.open(name, _NEW, 0o644, dir_fd=at.fd)
    try:
        try:
            _write(fd, text)
            os.fsync(fd)
        finally:
            os.close(fd)  # which may fail too, and then counts
    except OSError:
        with suppress(OSError):
            os.unlink(name, dir_fd=at.fd)  # made a moment ago, and here: half a file must not keep the name
        raise


def _wrote_over(at: Dir, spare: str, new: str, text: bytes) -> bool:
    """Write into the blocks of a spare file, where there are no others; return whether it is large enough."""
    try:
        os.rename(spare, new, src_dir_fd=at.fd, dst_dir_fd=at.fd)
    except FileNotFoundError:
        return False
    with opened(at, new, IN_PLACE) as fd:
        if os.fstat(fd).st_size < len(text):
            return False
        _write(fd, text)
        os.ftruncate(fd, len(text))
        os.fsync(fd)
    return True


def _write(fd: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(fd, rest) :]
