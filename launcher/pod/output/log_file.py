"""A child's log file on the shared volume: byte for byte, appended; trouble with it is told, and stops nothing.

Opened by directory descriptors without following links: the volume is hostile.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import PurePosixPath

from launcher.pod.log import Tell, TroubleTold
from launcher.pod.output.sink import Sink
from launcher.safefs.dirs import APPEND, Below, open_regular
from launcher.safefs.refusals import naming

RETRY = 5.0
GLANCE = 1.0
_PIECE = 256 * 1024  # at once, so that a slow volume is seen to move


class LogFile:
    """An open log, or one that is opened again every few seconds until that works."""

    def __init__(self, root: PurePosixPath, parts: Sequence[str], tell: Tell, *, retry: float = RETRY) -> None:
        """Name the file: `root` is trusted and must exist, the parts below it are made."""
        self._directory = Below(root=root, parts=tuple(parts[:-1]))
        self._name = parts[-1]
        self.path = str(root.joinpath(*parts))  # for messages
        self._naming = naming(self.path)
        self._retry = retry
        self._descriptor = -1
        self._again = 0.0
        self._looked = 0.0
        self._trouble = TroubleTold(tell, "log_file_trouble", "log_file_back", path=self.path)
        self.lost = 0

    def write(self, block: memoryview) -> int:
        """Append some of a block, or count it as lost."""
        now = time.monotonic()
        if self._descriptor < 0 and now < self._again:
            self.lost += len(block)
            return len(block)
        try:
            self._open_if_needed(now)
            with self._naming:
                written = os.write(self._descriptor, block[:_PIECE])
        except OSError as error:
            self._close()
            self._again = now + self._retry
            self.lost += len(block)
            self._tell_trouble(str(error))
            return len(block)
        # Only now: a full volume can be opened, and does not take a byte.
        if self._trouble.over(bytes_lost=self.lost):
            self.lost = 0
        return written

    def stands_still(self) -> None:
        """Tell the trouble for the thread that writes, which waits for the volume."""
        self._tell_trouble("the volume does not answer")

    def goes_on(self, lost: int) -> bytes:
        """Count what was dropped while the volume did not answer."""
        self.lost += lost
        return b""

    def close(self) -> None:
        """Close it: a network volume may tell only now that what was written did not arrive."""
        if error := self._close():
            self._tell_trouble(str(error))

    def _open_if_needed(self, now: float) -> None:
        if self._descriptor >= 0 and now >= self._looked + GLANCE:
            self._looked = now
            if os.fstat(self._descriptor).st_nlink == 0:  # it was removed: make it again
                self._close()
        if self._descriptor < 0:
            with self._directory.opened(make=True) as at:
                self._descriptor = open_regular(at, self._name, APPEND, mode=0o644)
            self._looked = now

    def _close(self) -> OSError | None:
        descriptor, self._descriptor = self._descriptor, -1
        try:
            if descriptor >= 0:
                os.close(descriptor)
        except OSError as error:
            return error
        return None

    def _tell_trouble(self, error: str) -> None:
        self._trouble.tell(error, meanwhile="the output goes to stdout only")


class Log:
    """A log file behind a queue, so that no pump waits for its volume."""

    def __init__(self, file: LogFile, tell: Tell) -> None:
        """Have the file made, even if nothing is ever written to it."""
        self._file = file
        self._tell = tell
        self._sink = Sink(file, name=f"log {file.path}")
        self.put = self._sink.put
        self.put(b"")

    def finish(self, until: float) -> None:
        """Close the file, and tell how many bytes are missing in it."""
        done = self._sink.close(until)
        if lost := self._sink.waiting + self._file.lost:
            self._tell("log_file_incomplete", path=self._file.path, bytes_lost=lost)
        elif not done:
            self._tell("log_file_not_closed", path=self._file.path, error="the volume does not answer")
