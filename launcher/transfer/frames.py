"""The stream's frames: a head in JSON and a body of bytes, with the lengths of both before them.

No I/O here. The other end is not trusted: lengths are bounded, and a head is checked as it is used.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from launcher.transfer.problem import Garbled

LENGTHS = struct.Struct("!II")
HEAD, BODY = 1 << 20, 1 << 20  # bytes at most
LARGEST_FRAME = 1 << 60  # bytes of a file


@dataclass(frozen=True, slots=True)
class Frame:
    """One message: its kind, the facts of its head, and bytes."""

    kind: str
    head: Mapping[str, object] = field(default_factory=dict)
    body: bytes = b""

    def number(self, name: str, most: int = LARGEST_FRAME) -> int:
        """Return a whole number of the head; anything else, or more than `most`, is refused."""
        return frame_number(self.head.get(name), most)

    def text(self, name: str) -> str:
        """Return a text of the head; anything else is refused."""
        found = self.head.get(name)
        if not isinstance(found, str):
            raise Garbled(f"{name} of {self.kind!r} is not a text")
        return found

    def flag(self, name: str) -> bool:
        """Return whether a fact of the head is true; absent means false."""
        return self.head.get(name) is True

    def rows(self, name: str, width: int) -> Iterator[list[object]]:
        """Yield the rows of a list in the head, each as long as agreed."""
        found = self.head.get(name)
        if not isinstance(found, list):
            raise Garbled(f"{name} of {self.kind!r} is not a list")
        for row in found:
            if not isinstance(row, list) or len(row) != width:
                raise Garbled(f"{name} of {self.kind!r} has a row of another length than agreed")
            yield row


def frame_number(found: object, most: int = LARGEST_FRAME) -> int:
    """Return a whole number from 0 on; anything else, or more than `most`, is refused."""
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= most:
        raise Garbled(f"expected a whole number from 0 to {most}")
    return found


def encoded(kind: str, body: bytes | memoryview = b"", /, **head: object) -> bytes:
    """Return a frame as it goes over the line."""
    # Names are bytes on Linux: what is no UTF-8 in them goes as halves of pairs, which JSON can write.
    text = json.dumps({"kind": kind, **head}, separators=(",", ":")).encode()
    return b"".join((LENGTHS.pack(len(text), len(body)), text, body))


class Frames:
    """Puts frames together from bytes in pieces of any size."""

    def __init__(self) -> None:
        self._left = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that are complete with these bytes."""
        self._left += data
        found = []
        at = 0
        while len(self._left) - at >= LENGTHS.size:
            head, body = LENGTHS.unpack_from(self._left, at)
            if head > HEAD or body > BODY:
                raise Garbled("the other end sends no frames: this one would be longer than any")
            begin = at + LENGTHS.size
            end = begin + head + body
            if len(self._left) < end:
                break
            found.append(_frame(bytes(self._left[begin : begin + head]), bytes(self._left[begin + head : end])))
            at = end
        del self._left[:at]
        return found


def _frame(text: bytes, body: bytes) -> Frame:
    try:
        head = json.loads(text)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or not isinstance(head.get("kind"), str):
        raise Garbled("the other end sends no frames: a head cannot be read")
    return Frame(head["kind"], head, body)
