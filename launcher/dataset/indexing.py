"""The positions of the chunks in a RecordIO file, from their headers; the format has no index."""

from __future__ import annotations

from launcher.dataset.chunks import CHUNK_LIMIT, HEADER, chunk_header
from launcher.dataset.problem import Damaged
from launcher.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from typing import BinaryIO

    File = str | bytes | os.PathLike[str] | BinaryIO


class Chunk:
    """A chunk's position: the number of its first record, its records, its bytes from `offset` to `end`."""

    __slots__ = ("end", "first", "offset", "records")

    def __init__(self, first: int, records: int, offset: int, end: int) -> None:
        self.first, self.records, self.offset, self.end = first, records, offset, end


def index(file: File, limit: int = CHUNK_LIMIT) -> Sequence[Chunk]:
    """Return the position of each chunk; only headers are read."""
    handle, name, mine = opened_file(file, "rb")
    found: list[Chunk] = []
    first = at = 0
    try:
        end = handle.seek(0, 2)
        while at < end:
            handle.seek(at)
            try:
                head = chunk_header(handle.read(HEADER), limit)
                if at + HEADER + head.size > end:
                    raise ValueError(f"the file ends in a chunk, after {end - at - HEADER} of {head.size} bytes")
            except ValueError as damage:
                raise Damaged(f"{name}: the chunk at byte {at}: {damage}; expected whole chunks") from None
            found.append(Chunk(first, head.records, at, at + HEADER + head.size))
            first, at = first + head.records, found[-1].end
    finally:
        if mine:
            handle.close()
    return found


def opened_file(file: File, mode: str) -> tuple[BinaryIO, str, bool]:
    """Return an open file, its name for messages, and whether it was opened here."""
    if hasattr(file, "read" if mode == "rb" else "write"):
        return file, shown(getattr(file, "name", "the file")), False  # type: ignore[return-value]
    return open(file, mode), shown(file), True  # type: ignore[arg-type, return-value]
