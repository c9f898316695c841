"""The local socket of the pod's programs: an abstract unix socket, and one thread for all of them.

A connection is kept for one question after the other; programs of 0.1.0 close it after the first. Only processes
of the launcher's own user with this generation's token are answered; any other connection is closed.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
import time
import traceback
from contextlib import suppress
from typing import Protocol

from launcher.pod.gang.here.requests import LINE, Answer, Ask, understood, written

ASKING = 48
SILENT = 64  # connections that are kept without a question; the one that has been silent for longest is closed first
NEWCOMERS = 16
QUEUE = 512
HELLO = 10.0  # seconds for a line, from the connection or from its first byte
ROOM = 0.02  # seconds that a newcomer has while others wait to connect; a program of ours needs one or two ms
SHORTAGE = 0.1  # seconds until the next try where there was no descriptor left


class Caller:
    """One connection: the socket's thread reads and closes it, any thread can answer, and no write blocks."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._got = b""
        self.token = b""
        self.known = False  # it has asked something, with the right token
        self.asking = False
        self.since = time.monotonic()  # it came, or asked last
        self.until: float | None = None  # for the rest of a line, or for an answer

    def fileno(self) -> int:
        """Return the descriptor, as `poll` wants it."""
        return self._connection.fileno()

    @property
    def in_a_line(self) -> bool:
        """Whether the rest of a line is still to come."""
        return bool(self._got) or not self.known

    def line(self, hello: float) -> bytes | None:
        """Return a line once it is whole; OSError at the end of the connection, or of a line that is too long.

        One question at a time: bytes that come before its answer are dropped.
        """
        with suppress(BlockingIOError):
            block = self._connection.recv(65536)
            if not block or len(self._got) + len(block) > LINE:
                raise ConnectionAbortedError
            if not self.asking:
                if not self.in_a_line:
                    self.until = time.monotonic() + hello
                self._got += block
        line, end, _ = self._got.partition(b"\n")
        if not end:
            return None
        self._got = b""
        return line

    def asks(self, token: bytes, timeout: float | None) -> None:
        """Note its question, before it can be answered."""
        self.token, self.known, self.asking, self.since = token, True, True, time.monotonic()
        self.until = None if timeout is None else self.since + timeout

    def answer(self, answer: Answer) -> None:
        """Send the answer, for which the kernel has room: a program of ours has read the one before."""
        self.asking = False
        try:
            line = written(answer)
            if self._connection.send(line, socket.MSG_NOSIGNAL) < len(line):
                self.hang_up()
        except (OSError, RecursionError):
            self.hang_up()

    def hang_up(self) -> None:
        """End the connection; the socket's thread notices and closes it."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the descriptor."""
        self._connection.close()


class Listener(Protocol):
    """What answers the questions; PermissionError for a token that is not this generation's."""

    def asked(self, caller: Caller, ask: Ask) -> None:
        """Take a question, and answer it now or later."""

    def refuse(self, caller: Caller, why: str) -> None:
        """Refuse a question."""

    def late(self, caller: Caller) -> None:
        """Answer a caller whose timeout is over."""

    def gone(self, caller: Caller) -> None:
        """Forget a caller that has closed its connection."""


class HereSocket:
    """The socket, its connections, and how many there can be."""

    def __init__(self, name: str, listener: Listener, *, hello: float = HELLO) -> None:
        self._name = name
        self._hello = hello
        self._listener = listener
        self._listening = socket.socket(socket.AF_UNIX)
        self._closed = threading.Event()
        self._poll = select.poll()
        self._callers: dict[int, Caller] = {}  # by descriptor, in the order in which they came
        self._shut_until: float | None = None

    def open(self) -> None:
        """Listen, and serve all connections on a thread."""
        self._listening.bind(f"\0{self._name}")
        self._listening.listen(QUEUE)
        threading.Thread(target=self._attend, name="here", daemon=True).start()

    def close(self) -> None:
        """Close all connections and the socket."""
        self._closed.set()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes the thread; closing alone does not

    def _attend(self) -> None:
        listening = self._listening.fileno()
        self._poll.register(listening, select.POLLIN)
        while not self._closed.is_set():
            for descriptor, _ in self._poll.poll(self._milliseconds()):
                if descriptor == listening:
                    self._let_in()
                elif caller := self._callers.get(descriptor):
                    self._hear(caller)
            self._look_at_the_clock()
        for caller in tuple(self._callers.values()):
            self._drop(caller)
        self._listening.close()

    def _milliseconds(self) -> float | None:
        """Return the time until the next deadline, None where there is none."""
        times = [caller.until for caller in self._callers.values() if caller.until is not None]
        if self._shut_until is not None:
            times.append(self._shut_until)
        return max(0.0, min(times) - time.monotonic()) * 1000 + 1 if times else None

    def _shut(self, until: float | None) -> None:
        """Accept no connection until a time, or again where it is None."""
        self._shut_until = until
        self._poll.modify(self._listening, select.POLLIN if until is None else 0)

    def _let_in(self) -> None:
        newcomers = [caller for caller in self._callers.values() if not caller.known]
        if len(newcomers) >= NEWCOMERS:
            if time.monotonic() < newcomers[0].since + ROOM:
                self._shut(newcomers[0].since + ROOM)
                return
            self._drop(newcomers[0])
        try:
            connection, _ = self._listening.accept()
        except OSError:  # closed, or out of descriptors
            self._shut(time.monotonic() + SHORTAGE)
            return
        if _user_of(connection) != os.geteuid():
            connection.close()
            return
        caller = Caller(connection)
        caller.until = caller.since + self._hello
        self._callers[caller.fileno()] = caller
        self._poll.register(caller, select.POLLIN)

    def _hear(self, caller: Caller) -> None:
        try:
            line = caller.line(self._hello)
            if line is not None:
                self._take(caller, line)
        except OSError:  # closed by the program, killed, or a stranger
            self._drop(caller)
        except Exception:  # a bug: the other connections still need this thread
            traceback.print_exc()
            self._drop(caller)

    def _take(self, caller: Caller, line: bytes) -> None:
        said = understood(line)
        if said is None:
            raise PermissionError
        token, ask = said
        many = len(self._callers) > ASKING and sum(each.asking for each in self._callers.values()) >= ASKING
        caller.asks(token, getattr(ask, "timeout", None))
        if many:
            self._listener.refuse(caller, f"{ASKING} threads and processes of this trainer are waiting here already")
        else:
            self._listener.asked(caller, ask)
        if self._shut_until is not None:  # there may be a newcomer less
            self._shut(None)
        if len(self._callers) > SILENT:
            self._make_room()

    def _make_room(self) -> None:
        silent = [caller for caller in self._callers.values() if caller.known and not caller.asking]
        if len(silent) > SILENT:
            self._drop(min(silent, key=lambda caller: caller.since))

    def _look_at_the_clock(self) -> None:
        now = time.monotonic()
        if self._shut_until is not None and now >= self._shut_until:
            self._shut(None)
        for caller in [each for each in self._callers.values() if each.until is not None and now >= each.until]:
            caller.until = None
            if caller.asking:
                self._listener.late(caller)
            elif caller.in_a_line:
                self._drop(caller)

    def _drop(self, caller: Caller) -> None:
        del self._callers[caller.fileno()]
        self._poll.unregister(caller)
        self._listener.gone(caller)
        caller.close()


def _user_of(connection: socket.socket) -> int:
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)
