"""Where the pod's own programs speak to the launcher: an abstract unix socket, a thread a caller, one question each.

Only processes of the launcher's own user get in, and only with the token; a stranger is hung up on without a word.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import threading
import time
from contextlib import suppress
from typing import Protocol

from launcher.pod.gang.here.requests import LINE, Answer, Ask, understood

KNOWN = 48
NEWCOMERS = 16
QUEUE = 512
HELLO = 10.0  # seconds for the first line
ROOM = 0.02  # seconds that a newcomer keeps its place when others want it; a program of ours needs one or two of ms


class Caller:
    """One connection: its own thread reads and closes, anybody may answer or hang up, and no writing waits."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self.token = b""

    def line(self, seconds: float) -> bytes:
        """Return the first line, or what there was of it when the time, the caller or the size came to an end."""
        until = time.monotonic() + seconds
        got = b""
        while b"\n" not in got and len(got) <= LINE and self._readable(max(0.0, until - time.monotonic())):
            block = self._connection.recv(65536)
            if not block:
                break
            got += block
        return got.partition(b"\n")[0] if len(got) <= LINE else b""

    def leaves(self, seconds: float | None) -> bool:
        """Wait until the caller has hung up, and return whether it did in that time."""
        until = None if seconds is None else time.monotonic() + seconds
        while self._readable(None if until is None else max(0.0, until - time.monotonic())):
            if not self._connection.recv(65536):
                return True
        return False

    def answer(self, answer: Answer) -> None:
        """Send the one answer, for which the kernel has room, and hang up: a fork may still hold the line."""
        with suppress(OSError):
            self._connection.send(json.dumps(answer).encode() + b"\n", socket.MSG_NOSIGNAL)
        self.hang_up()

    def hang_up(self) -> None:
        """End the conversation; the thread that reads notices."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def _readable(self, seconds: float | None) -> bool:
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        return bool(poll.poll(None if seconds is None else seconds * 1000))


class Desk(Protocol):
    """Who answers."""

    def knows(self, token: bytes) -> bool:
        """Return whether it is the token of now."""

    def asked(self, caller: Caller, ask: Ask) -> None:
        """Take a question."""

    def late(self, caller: Caller) -> None:
        """Hear that a caller's time is up."""

    def gone(self, caller: Caller) -> None:
        """Hear that a caller has hung up."""


class Door:
    """The socket, and how many come in."""

    def __init__(self, name: str, desk: Desk, *, hello: float = HELLO) -> None:
        self._name = name
        self._hello = hello
        self._desk = desk
        self._listening = socket.socket(socket.AF_UNIX)
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._newcomers: dict[Caller, None] = {}  # in the order in which they came
        self._known: set[Caller] = set()
        self._room = threading.Semaphore(NEWCOMERS)

    def open(self) -> None:
        """Listen, and let callers in on a thread."""
        self._listening.bind(f"\0{self._name}")
        self._listening.listen(QUEUE)
        threading.Thread(target=self._let_in, name="here", daemon=True).start()

    def close(self) -> None:
        """Hang up on everybody and let nobody in any more."""
        self._closed.set()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts; closing alone does not
        self._listening.close()
        with self._lock:
            for caller in (*self._newcomers, *self._known):
                caller.hang_up()

    def _let_in(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._listening.accept()
            except OSError:  # closed, or out of descriptors
                self._closed.wait(0.1)
                continue
            if _user_of(connection) != os.geteuid():
                connection.close()
                continue
            self._make_room()
            caller = Caller(connection)
            with self._lock:
                self._newcomers[caller] = None
            try:
                threading.Thread(target=self._attend, args=(caller,), name="here caller", daemon=True).start()
            except RuntimeError:  # the pod may have no more threads
                self._forget(caller)

    def _make_room(self) -> None:
        """Wait for a newcomer to become known; else the one that has been silent for longest must go."""
        while not self._room.acquire(timeout=ROOM):
            with self._lock:
                oldest = next(iter(self._newcomers), None)
            if oldest:
                oldest.hang_up()

    def _attend(self, caller: Caller) -> None:
        try:
            with suppress(OSError):  # a caller that was killed in the middle
                self._converse(caller)
        finally:
            self._desk.gone(caller)
            self._forget(caller)

    def _converse(self, caller: Caller) -> None:
        said = understood(caller.line(self._hello))
        if said is None or not self._desk.knows(said[0]):
            return
        caller.token, ask = said
        if not self._admit(caller):
            caller.answer({"misuse": f"{KNOWN} threads and processes of this trainer are waiting here already"})
            return
        self._desk.asked(caller, ask)
        if not caller.leaves(getattr(ask, "timeout", None)):
            self._desk.late(caller)
            caller.leaves(None)

    def _admit(self, caller: Caller) -> bool:
        with self._lock:
            if len(self._known) >= KNOWN:
                return False
            self._known.add(caller)
            del self._newcomers[caller]
        self._room.release()
        return True

    def _forget(self, caller: Caller) -> None:
        with self._lock:
            was_new = caller in self._newcomers
            self._newcomers.pop(caller, None)
            self._known.discard(caller)
        if was_new:
            self._room.release()
        caller.close()


def _user_of(connection: socket.socket) -> int:
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)
