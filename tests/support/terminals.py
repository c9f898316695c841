"""A command on a terminal of its own."""

from __future__ import annotations

import os
import pty
import subprocess


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
