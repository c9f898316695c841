"""The local socket at which `python -m launcher.stacks` asks its launcher for a look at all programs of the gang.

One question at a time, and a pause after each: a look can end a blocking call of a program early. Only the
launcher's own user and root are heard.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress

ASKED = b"look\n"
QUESTION_WITHIN = 5.0  # seconds for the question
LOOK_WITHIN = 15.0  # for the answer: of a look that is under way, and of the one that is asked for
PAUSE_BETWEEN = 1.0
_WAITING = 64  # connections
_TOO_LATE = {"problem": "the launcher has not looked within 15 s: is its main thread at a standstill?"}


class LookSocket:
    """Counts the questions; the main thread gives each its answer."""

    def __init__(self, name: str, nudge: Callable[[], None], *, within: float = LOOK_WITHIN) -> None:
        """`nudge` is called on a thread of its own when a question has come."""
        self._name = name
        self._nudge = nudge
        self._within = within
        self._socket = socket.socket(socket.AF_UNIX)
        self._given = threading.Event()
        self._answer: Mapping[str, object] | None = None
        self.asked = 0  # questions so far
        self.waiting = False  # whether one of them has no answer yet

    def open(self) -> None:
        """Listen and answer, on a thread; OSError where another launcher listens there."""
        try:
            self._socket.bind(f"\0{self._name}")
            self._socket.listen(_WAITING)
        except OSError:
            self._socket.close()
            raise
        threading.Thread(target=self._attend, name="look socket", daemon=True).start()

    def give(self, answer: Mapping[str, object]) -> None:
        """Answer the question that waits."""
        self._answer, self.waiting = answer, False
        self._given.set()

    def close(self) -> None:
        """Hear no more."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread

    def _attend(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                self._socket.close()
                return
            try:
                with connection:
                    self._hear(connection)
            except OSError:  # it has gone
                continue
            except Exception:  # a bug: the next one may be lucky
                traceback.print_exc()

    def _hear(self, connection: socket.socket) -> None:
        if _user_at(connection) not in (0, os.geteuid()):
            return
        connection.settimeout(QUESTION_WITHIN)
        if connection.recv(len(ASKED), socket.MSG_WAITALL) != ASKED:
            return
        connection.sendall(json.dumps(self._looked()).encode() + b"\n")
        time.sleep(PAUSE_BETWEEN)

    def _looked(self) -> Mapping[str, object]:
        self._given.clear()
        self._answer = None
        self.asked += 1
        self.waiting = True
        self._nudge()
        self._given.wait(self._within)
        self.waiting = False
        return self._answer or _TOO_LATE


def _user_at(connection: socket.socket) -> int:
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)
