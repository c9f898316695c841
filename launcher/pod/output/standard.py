"""Standard output or error: a descriptor that others share, whose reader may be slow, blocked, or gone."""

from __future__ import annotations

import fcntl
import os
import select
import stat
import sys
import termios
from contextlib import suppress

# A pipe that can be written to takes this much at once, and a writer of more waits for all of it: so it shows that
# a slow reader moves.
_PIECE = select.PIPE_BUF


class Stream:
    """A descriptor that is already open; a reader that went away is no failure of the job."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pipe = self._file = False
        with suppress(OSError):  # it may be closed, and then nothing is written
            kind = os.fstat(descriptor).st_mode
            self._pipe, self._file = stat.S_ISFIFO(kind), stat.S_ISREG(kind)
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)

    def write(self, block: memoryview) -> int:
        """Write some of a block, once its reader takes something."""
        if not block:
            return 0
        self._poll.poll()
        try:
            return os.write(self._descriptor, block[: self._at_once(len(block))])
        except (
            BlockingIOError
        ):  # it was left non-blocking by the starter of the launcher, and another writer was faster
            return 0
        except OSError:
            return len(block)

    def _at_once(self, size: int) -> int:
        """Return how much can be written without waiting for more than a page to be read."""
        if size <= _PIECE or self._file:
            return size
        if self._pipe and not _unread(self._descriptor):
            return fcntl.fcntl(self._descriptor, fcntl.F_GETPIPE_SZ)
        return _PIECE

    def stands_still(self) -> None:
        """Say nothing here: the reader of this output does not read."""

    def goes_on(self, lost: int) -> bytes:
        """Return the line that stands in the output for the dropped bytes."""
        return f"[launcher] {lost} bytes were dropped here: the output was not being read\n".encode()

    def close(self) -> None:
        """Leave it open: other processes share it."""


def _unread(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def same(one: int, other: int) -> bool:
    """Return whether two descriptors lead to the same place."""
    try:
        return os.path.sameopenfile(one, other)
    except OSError:
        return False
