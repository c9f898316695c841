"""A wall clock of a pod's own: it jumps when a test says so, and no other clock and no wait of the pod is touched.

libfaketime (0.9.10) touches them: told to leave the monotonic clock alone, it lets every `time.sleep` of Python fail,
and ends each wait for the interpreter at once, so that whoever waits for it runs in a circle.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_suffix(".c")


class WallClock:
    """The wall clock of the programs that are started with its environment; it is right at first."""

    def __init__(self, room: Path) -> None:
        """Make what it needs, in a new folder of its own."""
        if not shutil.which("cc"):
            pytest.skip("there is no C compiler: install Debian's packages gcc and libc6-dev")
        room.mkdir()
        self._off, library = room / "off", room / "wall_clock.so"
        self._off.write_bytes(struct.pack("l", 0))
        subprocess.run(["cc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
        self.env = {"LD_PRELOAD": str(library), "WALL_CLOCK": str(self._off)}

    def jump(self, seconds: int) -> None:
        """Set it so many seconds off, at once."""
        with self._off.open("r+b") as off:  # in place: the programs have it in their memory
            off.write(struct.pack("l", seconds))
