"""How trainers and pservers talk: a kind, who speaks, and some doubles.

Every request is answered once all trainers have made theirs, so each is a barrier too.
"""

from __future__ import annotations

import socket
import struct
from array import array
from dataclasses import dataclass, field
from enum import IntEnum

MAGIC = b"pv1s"
HEADER = struct.Struct("!4sBII")  # magic, kind, sender, number of doubles
LIMIT = 10_000_000


class Kind(IntEnum):
    """What a message is about; where trainers differ, the smallest is what happens next."""

    HELLO = 1  # trainer 0 brings the learning rate and the first values; the answer has the values
    PUSH = 2  # a gradient; the answer has the values after it
    PASS = 3  # no data left in this pass
    BYE = 4  # no pass left


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One request or answer."""

    kind: Kind
    sender: int = 0
    values: array[float] = field(default_factory=lambda: array("d"))


class Line:
    """One connection, in whole messages."""

    def __init__(self, connection: socket.socket) -> None:
        """Take the connection; a step of training is one small message each way, so nothing may be held back."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = connection
        self._stream = connection.makefile("rwb")

    def send(self, message: Message) -> None:
        """Send a message, whole."""
        self._stream.write(HEADER.pack(MAGIC, message.kind, message.sender, len(message.values)))
        self._stream.write(message.values.tobytes())
        self._stream.flush()

    def receive(self) -> Message:
        """Wait for a message; raise ConnectionError where none comes, or something else does."""
        magic, kind, sender, count = HEADER.unpack(self._read(HEADER.size))
        if magic != MAGIC or kind not in Kind.__members__.values() or count > LIMIT:
            raise ConnectionError("this is no trainer or pserver of the stand-in")
        values = array("d")
        values.frombytes(self._read(count * values.itemsize))
        return Message(kind=Kind(kind), sender=sender, values=values)

    def close(self) -> None:
        """Hang up."""
        self._stream.close()
        self.connection.close()

    def _read(self, size: int) -> bytes:
        found = self._stream.read(size)
        if len(found) < size:
            raise ConnectionError("the connection was closed")
        return found
