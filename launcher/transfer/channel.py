"""Frames between both ends of a copy, gathered into large messages, over any line that carries bytes."""

from __future__ import annotations

import os
import select
from collections import deque
from typing import Protocol

from launcher.transfer.frames import Frame, Frames, encoded
from launcher.transfer.problem import Broken, Garbled, OtherEndFailed

MESSAGE = 256 << 10  # bytes: small files do not cost a message each
_READ = 256 << 10
UNASKED, _COME = 64, 1 << 20  # frames, and bytes, that may come unasked
_STUCK = 900.0  # seconds in which nothing can be sent


class _Line(Protocol):
    """A connection that carries bytes both ways."""

    def send(self, data: bytes) -> None:
        """Send all of it, and go on receiving meanwhile."""

    def arrived(self) -> bytes:
        """Return the bytes that have arrived, without waiting."""

    def receive(self) -> bytes:
        """Wait for bytes; none means that the other end is gone."""


class Channel:
    """Sends frames over a line, and receives them."""

    def __init__(self, line: _Line) -> None:
        self._line = line
        self._frames = Frames()
        self._heard: deque[Frame] = deque()
        self._said = bytearray()

    def put(self, kind: str, body: bytes | memoryview = b"", /, **head: object) -> None:
        """Queue a frame; it is sent with the next ones, in one message."""
        self._said += encoded(kind, body, **head)
        if len(self._said) >= MESSAGE:
            self.flush()

    def flush(self) -> None:
        """Send the queued frames, and see whether the other end has failed meanwhile."""
        self._send()
        self._hear(self._line.arrived())
        if len(self._heard) > UNASKED:
            raise Garbled("the other end sends more than it was asked for")

    def get(self, *kinds: str) -> Frame:
        """Send the queued frames, and wait for one of these kinds; any other is refused."""
        self._send()
        while not self._heard:
            data = self._line.receive()
            if not data:
                raise Broken("the other end is gone")
            self._hear(data)
        frame = self._heard.popleft()
        if frame.kind not in kinds:
            raise Garbled(f"expected {' or '.join(kinds)}, not {frame.kind[:40]!r}")
        return frame

    def _send(self) -> None:
        if self._said:
            said, self._said = bytes(self._said), bytearray()
            self._line.send(said)

    def _hear(self, data: bytes) -> None:
        for frame in self._frames.feed(data):
            if frame.kind == "failed":
                raise OtherEndFailed(frame.text("why"))
            self._heard.append(frame)


class Pipes:
    """The line of a process whose other end is its parent's, or a container runtime's."""

    def __init__(self, reading: int = 0, writing: int = 1) -> None:
        os.set_blocking(writing, False)
        self._reading = reading
        self._writing = writing
        self._come = b""

    def send(self, data: bytes) -> None:
        """Write all of it, unless its reader is gone.

        A runtime whose desk has gone ends the input, but may leave the output as it is: full and without a reader.
        """
        view = memoryview(data)
        while view:
            readable, writable, _ = select.select([self._reading], [self._writing], [], _STUCK)
            if writable:
                view = view[self._written(view) :]
            elif readable:
                self._come += self._more()
            else:
                raise Broken("the other end does not read")

    def arrived(self) -> bytes:
        """Return nothing: this end sends or receives, never both."""
        return b""

    def receive(self) -> bytes:
        """Wait for bytes; none means that the input has ended."""
        come, self._come = self._come, b""
        return come or os.read(self._reading, _READ)

    def _written(self, view: memoryview) -> int:
        try:
            return os.write(self._writing, view)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise Broken("the other end is gone") from None

    def _more(self) -> bytes:
        data = os.read(self._reading, _READ)
        if not data:
            raise Broken("the other end is gone")
        if len(self._come) > _COME:
            raise Garbled("the other end sends more than it was asked for")
        return data
