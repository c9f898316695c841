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

from launcher.pod.events import Tell

RETRY = 5.0
GLANCE = 1.0
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a FIFO that waits in the log's place must not hang the open.
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


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
        self._lost = 0

    @property
    def path(self) -> str:
        """The file's path, for messages."""
        return str(self._root.joinpath(*self._parts))

    def write(self, block: bytes) -> None:
        """Append a block, or count it as lost."""
        now = time.monotonic()
        if self._descriptor < 0 and now < self._again:
            self._lost += len(block)
            return
        rest = memoryview(block)
        try:
            self._open_if_needed(now)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            self._give_up(error, len(rest), now)

    def _open_if_needed(self, now: float) -> None:
        if self._descriptor >= 0 and now >= self._looked + GLANCE:
            self._looked = now
            if os.fstat(self._descriptor).st_nlink == 0:  # somebody removed it: make it anew
                os.close(self._descriptor)
                self._descriptor = -1
        if self._descriptor < 0:
            self._descriptor = open_below(self._root, self._parts)
            self._looked = now
            if self._lost:
                self._tell("log_file_back", path=self.path, bytes_lost=self._lost)
                self._lost = 0

    def _give_up(self, error: OSError, lost: int, now: float) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if not self._lost:
            self._tell(
                "log_file_trouble", path=self.path, error=str(error), meanwhile="the output goes to stdout only"
            )
        self._lost += lost
        self._again = now + self._retry


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
