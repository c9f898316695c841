"""The chunks of a RecordIO file as bytes: a header, then records, compressed as one stream.

No I/O here.
"""

from __future__ import annotations

import struct
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAGIC = b"\x04\x03\x02\x01"  # 0x01020304, little-endian as everything here
NONE, SNAPPY, _GZIP = range(3)
COMPRESSORS = {"none": NONE, "snappy": SNAPPY, "gzip": _GZIP}
SIZE = 32 << 20  # bytes of records that a chunk holds by default
CHUNK_LIMIT = 256 << 20  # bytes that a reader holds for one chunk: a damaged header may claim anything
LARGEST = CHUNK_LIMIT // 2  # bytes of a record, which may stand in a chunk behind others
GZIPPED = 16 + zlib.MAX_WBITS
LEVEL = 6
_HEADER = struct.Struct("<4s4I")
_LENGTH = struct.Struct("<I")
HEADER = _HEADER.size
LENGTH = _LENGTH.size


class Header:
    """The header of a chunk: checksum, compressor, size in bytes, number of records."""

    __slots__ = ("checksum", "compressor", "records", "size")

    def __init__(self, checksum: int, compressor: int, size: int, records: int) -> None:
        self.checksum, self.compressor, self.size, self.records = checksum, compressor, size, records


def chunk_header(data: bytes, limit: int = CHUNK_LIMIT) -> Header:
    """Return the header in these bytes, or raise a ValueError with the reason."""
    if len(data) < HEADER:
        raise ValueError(f"the file ends in a header, after {len(data)} of {HEADER} bytes")
    magic, checksum, compressor, size, records = _HEADER.unpack(data)
    if magic != MAGIC:
        raise ValueError(f"no chunk begins here: found {magic.hex()}, expected {MAGIC.hex()}")
    if compressor > _GZIP:
        raise ValueError(f"unknown compressor {compressor}")
    if size > limit or records * _LENGTH.size > limit:
        raise ValueError(f"a chunk of {size} bytes with {records} records: expected at most {limit} bytes")
    return Header(checksum, compressor, size, records)


def encode_chunk(records: Sequence[bytes], compressor: int) -> bytes:
    """Return a whole chunk with these records."""
    pack = _LENGTH.pack
    payload = b"".join([part for record in records for part in (pack(len(record)), record)])
    if compressor == _GZIP:
        work = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIPPED)
        payload = work.compress(payload) + work.flush()
    elif compressor == SNAPPY:
        from launcher.dataset import snappy

        payload = snappy.compress(payload)
    return _HEADER.pack(MAGIC, zlib.crc32(payload), compressor, len(payload), len(records)) + payload


def decode_chunk(head: Header, stored: bytes, limit: int = CHUNK_LIMIT) -> bytes:
    """Return the records of a chunk, each behind its length, or raise a ValueError with the reason."""
    if len(stored) < head.size:
        raise ValueError(f"the file ends in a chunk, after {len(stored)} of {head.size} bytes")
    if zlib.crc32(stored) != head.checksum:
        raise ValueError("its checksum is wrong")
    if head.compressor == _GZIP:
        return _gunzip(stored, limit)
    if head.compressor == SNAPPY:
        from launcher.dataset import snappy

        return snappy.decompress(stored, limit)
    return stored


def records_in(payload: bytes, count: int) -> Iterator[bytes]:
    """Yield the records in these bytes, which must hold exactly this many; none of bytes that do not.

    The checksum is that of the records alone: a wrong byte before it, as that of the compressor, shows only here.
    """
    unpack, wide, end = _LENGTH.unpack_from, _LENGTH.size, len(payload)
    ends, at = [], 0
    for _ in range(count):
        if at + wide > end:
            raise ValueError("it holds fewer records than it says")
        at += wide + unpack(payload, at)[0]
        if at > end:
            raise ValueError("a record is longer than its chunk")
        ends.append(at)
    if at != end:
        raise ValueError("it holds more than its records")
    begin = 0
    for at in ends:
        yield payload[begin + wide : at]
        begin = at


def _gunzip(stored: bytes, limit: int) -> bytes:
    out = b""
    try:
        while stored:  # gzip allows several streams one after the other
            work = zlib.decompressobj(GZIPPED)
            out += work.decompress(stored, limit - len(out) + 1)
            if len(out) > limit:
                raise ValueError(f"more than {limit} bytes")
            if not work.eof:
                raise ValueError("its gzip stream is cut")
            stored = work.unused_data
    except zlib.error as error:
        raise ValueError(f"its gzip stream is broken: {error}") from None
    return out
