"""A command on a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time


def on_a_terminal(words: tuple[str, ...], typed: bytes = b"", **environ: str) -> tuple[int, str]:
    """Run a command on a terminal, type something, and return its exit code and all that was shown."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=environ or None, start_new_session=True
    )
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 65536):
            shown += block
            if typed and b": " in shown:
                os.write(ours, typed)
                typed = b""
    except OSError:
        pass  # the other end of the terminal is closed
    os.close(ours)
    return process.wait(timeout=30), shown.decode()


class Typist:
    """A shell on a terminal of its own, at which one types and looks."""

    def __init__(self, words: tuple[str, ...], **environ: str) -> None:
        """Start it."""
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 50, 200, 0, 0))
        # Shells want the terminal to be their session's own, too.
        own = ("setsid", "--ctty", *words)
        self._process = subprocess.Popen(own, stdin=theirs, stdout=theirs, stderr=theirs, env=environ)
        os.close(theirs)
        self.shown = ""

    def __enter__(self) -> Typist:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def types(self, text: str) -> None:
        """Press these keys."""
        os.write(self._ours, text.encode())

    def sees(self, text: str, seconds: float) -> bool:
        """Return whether a text is shown from here on, within so many seconds; look no further than it."""
        until = time.monotonic() + seconds
        while text not in self.shown:
            ready, _, _ = select.select([self._ours], [], [], max(0, until - time.monotonic()))
            if not ready:
                return False
            try:
                self.shown += os.read(self._ours, 65536).decode(errors="replace")
            except OSError:  # the shell has ended
                return False
        self.shown = self.shown.partition(text)[2]
        return True
