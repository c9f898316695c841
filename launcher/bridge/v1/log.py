"""The log of a v1 process: lines on stderr as glog writes them, and dots between them."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from pathlib import Path
from typing import TextIO


class V1Log:
    """Writes lines; dots before a line are ended first."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self._out = out
        self._dotted = False

    def tell(self, text: str) -> None:
        """Write a line, with the time, the process and the place in the program."""
        self.end_dots()
        frame = sys._getframe(1)
        where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        self._out.write(f"I{datetime.now():%m%d %H:%M:%S.%f} {os.getpid():5} {where}] {text}\n")
        self._out.flush()

    def dot(self) -> None:
        """Write a dot."""
        self._out.write(".")
        self._out.flush()
        self._dotted = True

    def end_dots(self) -> None:
        """End a line of dots, if there is one."""
        if self._dotted:
            self._out.write("\n")
            self._out.flush()
            self._dotted = False
