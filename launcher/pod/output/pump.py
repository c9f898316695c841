"""Carries a child's output from its pipe to its log file, byte for byte, and to stdout in whole lines.

A thread reads each pipe and never waits for long: what it reads goes to sinks. The end of the child, not the end
of the pipe, ends the pumping, since a grandchild may hold the pipe for ever.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from launcher.pod.output.lines import Lines

PIPE = 1024 * 1024
FIRST_READ = 64 * 1024
_TAIL = 3000

_Put = Callable[[bytes], None]


class Pump:
    """One child's pipe, and the thread that empties it."""

    def __init__(self, name: str, *, log: _Put | None, out: _Put, lines: Lines | None) -> None:
        """Make the pipe; `log` and `out` are fed as it comes, `out` in whole lines where `lines` are given."""
        self.name = name
        self.tail = b""
        self.total = 0
        self._log = log
        self._out = out
        self._lines = lines
        self._read, self.write_end = os.pipe()
        os.set_blocking(self._read, False)
        with suppress(OSError):  # an unprivileged user may have a lower limit
            fcntl.fcntl(self._read, fcntl.F_SETPIPE_SZ, PIPE)
        self._finish = os.eventfd(0, os.EFD_CLOEXEC)
        self._taking = threading.Lock()  # held while a block is neither in the pipe nor in the tail
        self._thread = threading.Thread(target=self._run, name=f"pump {name}", daemon=True)

    def start(self) -> None:
        """Begin to read, once the child has its end of the pipe."""
        os.close(self.write_end)
        self._thread.start()

    def say(self, lines: bytes) -> None:
        """Put whole lines of the launcher's own among the child's; any thread may call it."""
        with self._taking:
            self.tail = (self.tail + lines)[-_TAIL:]
        if self._log:
            self._log(lines)
        self._out(self._lines.apart(lines) if self._lines else lines)

    def settle(self, until: float) -> None:
        """Wait until what is in the pipe now is in the tail, no longer than given; not for what comes later."""
        whole = 0
        with self._taking:
            whole = self.total + (_unread(self._read) if self._read >= 0 else 0)
        while self.total < whole and time.monotonic() < until:
            time.sleep(0.001)

    def finish(self, until: float) -> None:
        """Take what is in the pipe now that the child is gone, and stop; wait for that no longer than given."""
        if not self._thread.ident:  # its child could not be started
            for descriptor in (self.write_end, self._read, self._finish):
                os.close(descriptor)
            return
        os.eventfd_write(self._finish, 1)
        self._thread.join(max(0.0, until - time.monotonic()))
        if not self._thread.is_alive():
            os.close(self._finish)

    def _run(self) -> None:
        if self._pump_until_finish():
            self._pump_the_rest()
        if self._lines and (rest := self._lines.rest()):
            self._out(rest)
        with self._taking:
            os.close(self._read)
            self._read = -1  # the number may become another file's

    def _pump_until_finish(self) -> bool:
        """Return whether there may be more to come: the child is gone, but the pipe is still open."""
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        poll.register(self._finish, select.POLLIN)
        size = FIRST_READ
        while all(descriptor != self._finish for descriptor, _ in poll.poll()):
            block = self._take(size)
            if not block:
                return False
            self._pass_on(block)
            size = PIPE if len(block) == size else FIRST_READ
        return True

    def _pump_the_rest(self) -> None:
        left = PIPE  # a grandchild that never stops writing gets no more than what fits into the pipe
        with suppress(BlockingIOError):
            while left > 0 and (block := self._take(left)):
                left -= len(block)
                self._pass_on(block)

    def _take(self, size: int) -> bytes:
        with self._taking:
            block = os.read(self._read, size)
            self.tail = (self.tail + block[-_TAIL:])[-_TAIL:]
            self.total += len(block)
        return block

    def _pass_on(self, block: bytes) -> None:
        if self._log:
            self._log(block)
        if out := self._lines.feed(block) if self._lines else block:
            self._out(out)


def _unread(pipe: int) -> int:
    answer = fcntl.ioctl(pipe, termios.FIONREAD, struct.pack("i", 0))
    count: int = struct.unpack("i", answer)[0]
    return count
