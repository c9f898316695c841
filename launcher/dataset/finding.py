"""Where a RecordIO file goes on behind a chunk that is damaged."""

from __future__ import annotations

import zlib

from launcher.dataset.chunks import HEADER, MAGIC, Header, chunk_header
from launcher.dataset.problem import Damaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

BLOCK = 1 << 16
PATIENCE = 1 << 30  # bytes that are looked through in vain, so that a malicious file does not take for ever


def next_chunk(file: BinaryIO, begun: int, head: Header | None, limit: int, name: str) -> int:
    """Return where the next chunk begins after the one that begun here, or where the file ends."""
    end = file.seek(0, 2)
    if head:
        behind = begun + HEADER + head.size
        if behind == end or _header_at(file, behind, end, limit):
            return behind
    left = PATIENCE
    at = begun + 1
    while at < end:
        at = _magic(file, at, end)
        found = _header_at(file, at, end, limit)
        if found:
            if _whole(file, found):
                return at
            left -= found.size
            if left < 0:
                raise Damaged(f"{name} has too many chunks that are damaged, the last at byte {at}: copy it again")
        at += 1
    return end


def _magic(file: BinaryIO, at: int, end: int) -> int:
    """Return where the next mark of a chunk stands, from here on."""
    while at < end:
        file.seek(at)
        block = file.read(BLOCK)
        where = block.find(MAGIC)
        if where >= 0:
            return at + where
        if len(block) < BLOCK:
            break
        at += BLOCK - len(MAGIC) + 1
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
        block = file.read(min(left, BLOCK))
        if not block:
            return False
        checksum = zlib.crc32(block, checksum)
        left -= len(block)
    return checksum == head.checksum
