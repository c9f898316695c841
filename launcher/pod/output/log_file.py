"""A child's log file on the shared volume: byte for byte, appended; trouble with it is told and outlived.

Opened by directory descriptors without following links: the volume is hostile.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePosixPath

from launcher.pod.log import Tell
from launcher.pod.output.sink import Sink

RETRY = 5.0
GLANCE = 1.0
PIECE = 256 * 1024  # at once, so that a slow volume is seen to move
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a FIFO that waits in the log's place must not hang the open.
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class LogFile:
    """An open log, or one that is opened again every few seconds until that works."""

    def __init__(self, root: PurePosixPath, parts: Sequence[str], tell: Tell, *, retry: float = RETRY) -> None:
        """Name the file: `root` is trusted and must exist, the parts below it are made."""
        self._root = root
        self._parts = parts
        self._tell = tell
        self._retry = retry
        self._descriptor = -1
        self._again = 0.0
        self._looked = 0.0
        self._troubled = False
        self.lost = 0

    @property
    def path(self) -> str:
        """The file's path, for messages."""
        return str(self._root.joinpath(*self._parts))

    def write(self, block: memoryview) -> int:
        """Append some of a block, or count it as lost."""
        now = time.monotonic()
        if self._descriptor < 0 and now < self._again:
            self.lost += len(block)
            return len(block)
        try:
            self._open_if_needed(now)
            written = os.write(self._descriptor, block[:PIECE])
        except OSError as error:
            self._close()
            self._again = now + self._retry
            self.lost += len(block)
            self._trouble(str(error))
            return len(block)
        self._well()
        return written

    def stands_still(self) -> None:
        """Tell it; the thread that writes cannot, since it waits for the volume."""
        self._trouble("the volume does not answer")

    def goes_on(self, lost: int) -> bytes:
        """Count what was dropped while the volume did not answer."""
        self.lost += lost
        return b""

    def close(self) -> None:
        """Close it: a network volume may tell only now that what was written did not arrive."""
        if error := self._close():
            self._trouble(str(error))

    def _open_if_needed(self, now: float) -> None:
        if self._descriptor >= 0 and now >= self._looked + GLANCE:
            self._looked = now
            if os.fstat(self._descriptor).st_nlink == 0:  # somebody removed it: make it anew
                self._close()
        if self._descriptor < 0:
            self._descriptor = open_below(self._root, self._parts)
            self._looked = now

    def _close(self) -> OSError | None:
        descriptor, self._descriptor = self._descriptor, -1
        try:
            if descriptor >= 0:
                os.close(descriptor)
        except OSError as error:
            return error
        return None

    def _trouble(self, error: str) -> None:
        if not self._troubled:
            self._troubled = True
            self._tell("log_file_trouble", path=self.path, error=error, meanwhile="the output goes to stdout only")

    def _well(self) -> None:
        if self._troubled:  # only now: a full volume can be opened, and does not take a byte
            self._troubled = False
            self._tell("log_file_back", path=self.path, bytes_lost=self.lost)
            self.lost = 0


class Log:
    """A log file behind a queue, so that nobody waits for its volume."""

    def __init__(self, file: LogFile, tell: Tell) -> None:
        """Have the file made, even if nothing is ever written to it."""
        self._file = file
        self._tell = tell
        self._sink = Sink(file, name=f"log {file.path}")
        self.put = self._sink.put
        self.put(b"")

    def finish(self, until: float) -> None:
        """Close the file, and tell what it lacks."""
        done = self._sink.close(until)
        if lost := self._sink.waiting + self._file.lost:
            self._tell("log_file_incomplete", path=self._file.path, bytes_lost=lost)
        elif not done:
            self._tell("log_file_not_closed", path=self._file.path, error="the volume does not answer")


def open_below(root: PurePosixPath, parts: Sequence[str]) -> int:
    """Open a file for appending below a trusted directory, making what is missing, following no link."""
    directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=directory)
            below = os.open(part, DIRECTORY, dir_fd=directory)
            os.close(directory)
            directory = below
        descriptor = os.open(parts[-1], APPEND, 0o644, dir_fd=directory)
    finally:
        os.close(directory)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{root.joinpath(*parts)} is not a regular file")
    return descriptor
