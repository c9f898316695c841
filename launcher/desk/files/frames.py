"""Frames of a WebSocket as a client says and reads them, and the channels that Kubernetes has in them.

No I/O here. RFC 6455, 5.2; what a server sends is not masked. The first byte of a message is its channel.
"""

from __future__ import annotations

from collections.abc import Iterator

from launcher.transfer.problem import Garbled

PROTOCOL = "v4.channel.k8s.io"
STDIN, STDOUT, STDERR, CLOSING = range(4)
MORE, BINARY, CLOSE, PING, PONG = 0, 2, 8, 9, 10
LONGEST_MESSAGE = 32 << 20  # bytes; servers send what a process wrote at once, 32 KiB


MASKED, _LAST = 0x80, 0x80
# A mask keeps proxies from what scripts in browsers write. Here is no script, and TLS around it: to mask in Python
# would take as long as all the rest, and a mask of zeroes leaves everything as it is.
MASK = bytes(4)


def frame(kind: int, *parts: bytes) -> bytes:
    """Return a frame as a client sends it."""
    length = sum(map(len, parts))
    if length < 126:
        long = bytes((MASKED | length,))
    elif length < 1 << 16:
        long = bytes((MASKED | 126,)) + length.to_bytes(2)
    else:
        long = bytes((MASKED | 127,)) + length.to_bytes(8)
    return b"".join((bytes((_LAST | kind,)), long, MASK, *parts))


class Messages:
    """Puts pieces of messages together from bytes that come in any pieces."""

    def __init__(self) -> None:
        self._left = bytearray()
        self._channel = -1

    def feed(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Yield the kind, the channel (or none: -1) and the bytes of each frame that is whole by now."""
        self._left += data
        at = 0
        try:
            while (found := _lengths(self._left, at)) is not None:
                begin, end = found
                first = self._left[at]
                kind, payload = first & 0x0F, bytes(self._left[begin:end])
                at = end
                if kind >= CLOSE:
                    yield kind, -1, payload
                    continue
                if kind != MORE and payload:
                    self._channel, payload = payload[0], payload[1:]
                yield BINARY, self._channel, payload
        finally:
            del self._left[:at]


def _lengths(data: bytearray, at: int) -> tuple[int, int] | None:
    """Return where the payload of the frame at this place begins and ends, None while it is not whole."""
    if len(data) < at + 2:
        return None
    long = data[at + 1]
    if long & 0x80:
        raise Garbled("the API server sends masked frames, which no WebSocket server does")
    more = {126: 2, 127: 8}.get(long, 0)
    begin = at + 2 + more
    if len(data) < begin:
        return None
    length = int.from_bytes(data[at + 2 : begin]) if more else long
    if length > LONGEST_MESSAGE:
        raise Garbled("the API server sends a longer frame than any")
    return (begin, begin + length) if len(data) >= begin + length else None
