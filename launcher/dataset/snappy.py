"""Snappy's framing format: read without any package, written without one as blocks that are not compressed.

No I/O here. With `cramjam` installed both are fast, and what is written is compressed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

START = b"\xff\x06\x00\x00sNaPpY"
BLOCK = 65536  # bytes that one frame holds at the most, not compressed
COMPRESSED, PLAIN, SKIPPED = 0x00, 0x01, 0x80
CASTAGNOLI = 0x82F63B78
TABLE: list[int] = []


def decode(stored: bytes, limit: int) -> bytes:
    """Return what a stream holds; its checksums are not looked at, since the chunk around it has one."""
    unpacked = _fast() or unpack
    out = bytearray()
    at, end = 0, len(stored)
    if not stored.startswith(START):
        raise ValueError("no snappy stream")
    while at < end:
        kind, size = stored[at], int.from_bytes(stored[at + 1 : at + 4], "little")
        frame = stored[at + 4 : at + 4 + size]
        if at + 4 + size > end:
            raise ValueError("a snappy frame is cut")
        at += 4 + size
        if kind in (COMPRESSED, PLAIN):
            if size < 4:
                raise ValueError("a snappy frame is cut")
            out += unpacked(frame[4:]) if kind == COMPRESSED else frame[4:]
        elif kind < SKIPPED:
            raise ValueError(f"a snappy frame of an unknown kind, {kind}")
        if len(out) > limit:
            raise ValueError(f"more than {limit} bytes")
    return bytes(out)


def encode(data: bytes) -> bytes:
    """Return a stream that holds these bytes."""
    package = _package()
    if package is None:
        blocks = (data[at : at + BLOCK] for at in range(0, len(data), BLOCK))
        return START + b"".join(_frame(block) for block in blocks)
    return bytes(package.snappy.compress(data))


def unpack(block: bytes) -> bytes:
    """Return what one compressed block holds."""
    size, at = _length(block)
    out = bytearray()
    end = len(block)
    try:
        while at < end:
            tag = block[at]
            if tag & 3:
                at, length, offset = _copy(block, at, tag)
                _repeat(out, length, offset)
            else:
                at, length = _literal(block, at, tag)
                if at + length > end:
                    raise ValueError("a literal is cut")
                out += block[at : at + length]
                at += length
            if len(out) > size:
                raise ValueError("a block holds more than it says")
    except IndexError:
        raise ValueError("a block is cut") from None
    if len(out) != size:
        raise ValueError("a block holds less than it says")
    return bytes(out)


def crc32c(data: bytes) -> int:
    """Return the checksum that the frames carry, before it is masked."""
    if not TABLE:
        for number in range(256):
            for _ in range(8):
                number = number >> 1 ^ (CASTAGNOLI if number & 1 else 0)
            TABLE.append(number)
    table, value = TABLE, 0xFFFFFFFF
    for byte in data:
        value = table[(value ^ byte) & 255] ^ value >> 8
    return value ^ 0xFFFFFFFF


def _frame(block: bytes) -> bytes:
    value = crc32c(block)
    masked = ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF
    size = (len(block) + 4).to_bytes(3, "little")
    return bytes([PLAIN]) + size + masked.to_bytes(4, "little") + block


def _length(block: bytes) -> tuple[int, int]:
    size = 0
    for at in range(min(5, len(block))):
        size |= (block[at] & 127) << 7 * at
        if block[at] < 128:
            if size > BLOCK:
                break
            return size, at + 1
    raise ValueError(f"a block does not say how long it is, or is longer than {BLOCK} bytes")


def _literal(block: bytes, at: int, tag: int) -> tuple[int, int]:
    length, at = tag >> 2, at + 1
    if length < 60:
        return at, length + 1
    more = length - 59
    return at + more, int.from_bytes(block[at : at + more], "little") + 1


def _copy(block: bytes, at: int, tag: int) -> tuple[int, int, int]:
    if tag & 3 == 1:
        return at + 2, (tag >> 2 & 7) + 4, tag >> 5 << 8 | block[at + 1]
    wide = 2 if tag & 3 == 2 else 4
    return at + 1 + wide, (tag >> 2) + 1, int.from_bytes(block[at + 1 : at + 1 + wide], "little")


def _repeat(out: bytearray, length: int, offset: int) -> None:
    if not 0 < offset <= len(out):
        raise ValueError("a copy from before the beginning")
    begin = len(out) - offset
    if offset >= length:
        out += out[begin : begin + length]
    else:
        out += (out[begin:] * (length // offset + 1))[:length]


def _fast() -> Callable[[bytes], bytes] | None:
    package = _package()
    if package is None:
        return None

    def unpacked(block: bytes) -> bytes:
        _length(block)  # before anything is allocated for it
        try:
            return bytes(package.snappy.decompress_raw(block))
        except package.DecompressionError as error:
            raise ValueError(f"a block that is not snappy's: {error}") from None

    return unpacked


def _package() -> Any:  # noqa: ANN401  # nothing is known of it where it is not installed
    from importlib import import_module

    try:
        return import_module("cramjam")
    except ImportError:
        return None
