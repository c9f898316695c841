"""Files in memory to which programs write their frames when they are asked: one for each program.

A program opens its own by the launcher's descriptor, so that it needs no directory to write in, and nothing is left
of it when both have ended.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from launcher.pod.settings.nouns import Role

_VARIABLE = "LAUNCHER_FRAMES"
_NAME = "paddle-launcher-stacks"  # launcher/stackable looks for it


class StackFile:
    """One program's file; its processes share it, and are asked one after the other."""

    def __init__(self) -> None:
        """Make it, empty."""
        self._file = os.memfd_create(_NAME, os.MFD_CLOEXEC)
        status = os.fstat(self._file)
        self._key = (status.st_dev, status.st_ino)
        self.path = f"/proc/{os.getpid()}/fd/{self._file}"

    def clear(self) -> None:
        """Forget what was written."""
        os.ftruncate(self._file, 0)

    @property
    def size(self) -> int:
        """How many bytes were written since."""
        return os.fstat(self._file).st_size

    def read(self, most: int) -> bytes:
        """Return what was written; of more than so many bytes the first and, longer, the last: the main thread."""
        size = self.size
        if size <= most:
            return os.pread(self._file, most, 0)
        last = most * 3 // 4
        return os.pread(self._file, most - last, 0) + b"\n...\n" + os.pread(self._file, last, size - last)

    def is_open_in(self, pid: int) -> bool:
        """Return whether a process has it open: what it writes when asked goes nowhere else."""
        with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
            return any(map(self._is_this, entries))
        return False

    def _is_this(self, entry: os.DirEntry[str]) -> bool:
        with suppress(OSError):
            if _NAME in os.readlink(entry.path):  # noqa: PTH115  # thousands, and no file is touched that may hang
                status = os.stat(entry.path)  # noqa: PTH116
                return (status.st_dev, status.st_ino) == self._key
        return False


class StackFiles:
    """The files of all programs of this launcher, for its life."""

    def __init__(self) -> None:
        """Make none yet."""
        self._files: dict[tuple[Role, int], StackFile] = {}

    def of(self, role: Role, rank: int) -> StackFile:
        """Return a program's file."""
        return self._files.get((role, rank)) or self._files.setdefault((role, rank), StackFile())

    def environment(self, role: Role, rank: int) -> Mapping[str, str]:
        """Return what a program needs in its environment, beside the directory of launcher/stackable."""
        with suppress(OSError):  # no descriptor left, or a kernel without such files: then it cannot be asked
            return {_VARIABLE: self.of(role, rank).path}
        return {}
