"""Snappy's framing format: read without any package, written only with `cramjam`.

No I/O here. Reading is written by hand because a training program's Python has no packages of ours: 100 lines read
7 MB/s there. Where `cramjam` is installed (5 MB, 1 ms to import), it reads 255 MB/s and writes.
"""

from __future__ import annotations

from launcher.dataset.problem import DatasetMisuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

START = b"\xff\x06\x00\x00sNaPpY"
SNAPPY_BLOCK = 65536  # bytes that one frame holds at the most, not compressed
COMPRESSED, _PLAIN, SKIPPED = 0x00, 0x01, 0x80


def decompress(stored: bytes, limit: int) -> bytes:
    """Return the bytes of a stream; its checksums are not looked at, since the chunk around it has one."""
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
        if kind in (COMPRESSED, _PLAIN):
            if size < 4:
                raise ValueError("a snappy frame is cut")
            out += unpacked(frame[4:]) if kind == COMPRESSED else frame[4:]
        elif kind < SKIPPED:
            raise ValueError(f"a snappy frame of an unknown kind, {kind}")
        if len(out) > limit:
            raise ValueError(f"more than {limit} bytes")
    return bytes(out)


def compress(data: bytes) -> bytes:
    """Return a stream that holds these bytes; refused without the package."""
    return bytes(_package_to_write().snappy.compress(data))


def check_writable() -> None:
    """Refuse to write where the package is not installed, before a file is begun."""
    _package_to_write()


def unpack(block: bytes) -> bytes:
    """Return the bytes of one compressed block."""
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


def _length(block: bytes) -> tuple[int, int]:
    size = 0
    for at in range(min(5, len(block))):
        size |= (block[at] & 127) << 7 * at
        if block[at] < 128:
            if size > SNAPPY_BLOCK:
                break
            return size, at + 1
    raise ValueError(f"a block does not say how long it is, or is longer than {SNAPPY_BLOCK} bytes")


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


def _package_to_write() -> Any:  # noqa: ANN401  # as below
    package = _package()
    if package is None:
        raise DatasetMisuse(
            "compressor='snappy': snappy is written by the package cramjam, which is not installed: "
            "run pip install cramjam, or choose compressor='gzip' or 'none'"
        )
    return package


def _package() -> Any:  # noqa: ANN401  # nothing is known of it where it is not installed
    from importlib import import_module

    try:
        return import_module("cramjam")
    except ImportError:
        return None
