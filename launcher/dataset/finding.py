"""Finds the next whole chunk of a RecordIO file behind a damaged one."""

from __future__ import annotations

import zlib

from launcher.dataset.chunks import HEADER, MAGIC, Header, chunk_header
from launcher.dataset.problem import Damaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

_BLOCK = 1 << 16
SEARCH_LIMIT = 1 << 30  # bytes searched without success: a malicious file cannot hold the reader


def next_chunk(file: BinaryIO, begun: int, head: Header | None, limit: int, name: str) -> int:
    """Return the position of the next chunk after the one that begun here, or the end of the file."""
    end = file.seek(0, 2)
    if head:
        behind = begun + HEADER + head.size
        if behind == end or _header_at(file, behind, end, limit):
            return behind
    left = SEARCH_LIMIT
    at = begun + 1
    while at < end:
        at = _magic(file, at, end)
        found = _header_at(file, at, end, limit)
        if found:
            if _whole(file, found):
                return at
            left -= found.size
            if left < 0:
                raise Damaged(f"{name} has too many damaged chunks, the last one at byte {at}: copy the file again")
        at += 1
    return end


def _magic(file: BinaryIO, at: int, end: int) -> int:
    """Return the position of the next mark of a chunk, from here on."""
    while at < end:
        file.seek(at)
        block = file.read(_BLOCK)
        where = block.find(MAGIC)
        if where >= 0:
            return at + where
        if len(block) < _BLOCK:
            break
        at += _BLOCK - len(MAGIC) + 1
    return end


def _header_at(file: BinaryIO, at: int, end: int, limit: int) -> Header | None:
    file.seek(at)
    try:
        head = chunk_header(file.read(HEADER), limit)
    except ValueError:
        return None
    return head if at + HEADER + head.size <= end else None


def _whole(file: BinaryIO, head: Header) -> bool:
    checksum, left = 0, head.size
    while left:
        block = file.read(min(left, _BLOCK))
        if not block:
            return False
        checksum = zlib.crc32(block, checksum)
        left -= len(block)
    return checksum == head.checksum
