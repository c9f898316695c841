"""How a large file is told in parts, so that what has come once need not come again.

The only I/O is the reading of one open file.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

CHUNK = 8 << 20  # bytes
MOST = 8192  # of one file: what they are told by fits into a frame
DIGEST = 32
PIECE = 256 << 10


@dataclass(frozen=True, slots=True)
class Standing:
    """What is there of a file: the digests of its chunks; all of it under its own name, or a part."""

    digests: bytes = b""
    whole: bool = False
    stamp: tuple[int, ...] = ()  # by which a part is known to be the one that was looked at
    runs: bool = False


def chunk_of(size: int) -> int:
    """Return how long the chunks of a file of this size are."""
    needed = -(-size // MOST)
    return max(CHUNK, -(-needed // CHUNK) * CHUNK)


def count_of(size: int) -> int:
    """Return how many chunks a file of this size has."""
    return -(-size // chunk_of(size))


def digest(file: int, begin: int, length: int) -> bytes:
    """Return the digest of a piece of an open file; of what is not there that of nothing."""
    found = hashlib.sha256()
    end = begin + length
    while begin < end and (data := os.pread(file, min(PIECE, end - begin), begin)):
        found.update(data)
        begin += len(data)
    return found.digest()


def digests(file: int, size: int, have: int) -> bytes:
    """Return the digests of the chunks that are there of a file: all of them whole, but the last of a whole file."""
    chunk = chunk_of(size)
    count = count_of(size) if have >= size else have // chunk
    return b"".join(digest(file, at * chunk, min(chunk, size - at * chunk)) for at in range(count))


def agreed(file: int, size: int, theirs: bytes) -> int:
    """Return up to where an open file is what the other end has, by the digests of its chunks."""
    chunk = chunk_of(size)
    for at in range(len(theirs) // DIGEST):
        own = digest(file, at * chunk, min(chunk, size - at * chunk))
        if own != theirs[at * DIGEST : (at + 1) * DIGEST]:
            return at * chunk
    return min(size, len(theirs) // DIGEST * chunk)
