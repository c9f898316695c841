"""When names are looked up again: each second while a peer is missing, once more when somebody asks, else never."""

from __future__ import annotations

import threading


class Seeking:
    """Any thread says why to look; the one that looks sleeps as long as there is no reason."""

    def __init__(self) -> None:
        self._missing = False
        self._wanted = threading.Event()

    def set(self) -> None:
        """Look again and again from now on: a peer is missing."""
        self._missing = True
        self._wanted.set()

    def clear(self) -> None:
        """Nobody is missing any more."""
        self._missing = False

    def is_set(self) -> bool:
        """Return whether a peer is missing."""
        return self._missing

    def once(self) -> None:
        """Look once more: who comes to a gang that runs is seen by its own questions alone."""
        self._wanted.set()

    def begin(self) -> None:
        """Begin a look: whoever asks from now on may have come too late for it."""
        self._wanted.clear()

    def wait(self) -> None:
        """Sleep until there is a reason to look."""
        self._wanted.wait()
