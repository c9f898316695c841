"""RecordIO files, a chunk at a time: `reader(file).read()`, `writer(file).write(record)`, `index(file)`.

A reader holds one chunk in memory. A damaged chunk is refused, or skipped with a count and a warning.

Written by hand, since no maintained package reads this format and a training program's Python has no packages of
ours: it reads 315 MB/s and writes 126 MB/s (bench/README.md).
"""

from __future__ import annotations

from launcher.dataset.chunks import (
    CHUNK_LIMIT,
    COMPRESSORS,
    HEADER,
    LARGEST,
    SIZE,
    Header,
    chunk_header,
    decode_chunk,
    encode_chunk,
    records_in,
)
from launcher.dataset.problem import Damaged, DamagedWarning, DatasetMisuse
from launcher.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    _File = str | bytes | os.PathLike[str] | BinaryIO

__all__ = ["Damaged", "Lost", "index", "reader", "writer"]


class Lost:
    """Counts of the skipped data; `records` counts those of damaged chunks with a valid header."""

    __slots__ = ("bytes", "chunks", "records", "uncounted")

    def __init__(self) -> None:
        self.chunks = self.records = self.bytes = 0
        self.uncounted = 0  # places with an unknown number of records

    def __repr__(self) -> str:
        """Return the counts in words."""
        more = f" and an unknown number in {self.uncounted} places" if self.uncounted else ""
        return f"{self.records} records{more}, {self.bytes} bytes in {self.chunks} chunks"


class reader:  # noqa: N801  # the seeds' own name
    """Reads the records of a file, from the first one or from the one that `seek` chose."""

    def __init__(self, file: _File, errors: str = "raise", limit: int = CHUNK_LIMIT) -> None:
        if errors not in ("raise", "skip"):
            raise DatasetMisuse(
                f"errors={errors!r}: expected 'raise' to refuse a damaged file, or 'skip' to skip the damage"
            )
        self.errors, self.limit = errors, limit
        self.lost = Lost()
        self._file, self.name, self._mine = _opened_file(file, "rb")
        self._at = self._file.tell() if self._file.seekable() else 0  # where the next chunk begins
        self._records: Iterator[bytes] = iter(())
        self._refused: Damaged | None = None

    def read(self) -> bytes | None:
        """Return the next record, or None after the last; an empty record is b""."""
        return next(self, None)

    def __iter__(self) -> reader:
        """Return this reader."""
        return self

    def __next__(self) -> bytes:
        """Return the next record."""
        for record in self._records:
            return record
        if self._refused:
            raise self._refused  # records behind the damage must not pass for the next ones
        self._records = self._rest()
        return next(self._records)

    def seek(self, record: int) -> None:
        """Go to a record by its number, from 0; of the chunks before it only the headers are read."""
        if record < 0:
            raise DatasetMisuse(f"seek({record}): expected a record's number, 0 or more")
        first = at = 0
        for chunk in index(self._file, limit=self.limit):
            if record < chunk.first + chunk.records:
                first, at = chunk.first, chunk.offset
                break
            first, at = chunk.first + chunk.records, chunk.end
        self._file.seek(at)
        self._at, self._refused, self._records = at, None, self._rest()
        for _ in range(record - first):
            next(self._records, None)

    def close(self) -> None:
        """Close the file, if it was opened here."""
        self._records = iter(())
        if self._mine:
            self._file.close()

    def __enter__(self) -> reader:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def __del__(self) -> None:
        """Close the file: the usual `while` loop never does."""
        if getattr(self, "_mine", False):
            self._file.close()

    def _rest(self) -> Iterator[bytes]:
        while True:
            begun, head, given = self._at, None, 0
            try:
                first = self._file.read(HEADER)
                if not first:
                    return
                head = chunk_header(first, self.limit)
                payload = decode_chunk(head, self._file.read(head.size), self.limit)
                self._at += HEADER + head.size
                for record in records_in(payload, head.records):
                    given += 1
                    yield record
            except ValueError as damage:
                self._pass_over(begun, head, given, damage)

    def _pass_over(self, begun: int, head: Header | None, given: int, damage: ValueError) -> None:
        where = f"{self.name}: the chunk at byte {begun}: {damage}"
        if self.errors == "raise":
            advice = "expected whole chunks: copy the file again, or read it with errors='skip'"
            self._refused = Damaged(f"{where}; {advice}")
            raise self._refused
        from launcher.dataset.finding import next_chunk

        self._at = next_chunk(self._file, begun, head, self.limit, self.name)
        self._file.seek(self._at)
        self.lost.chunks += 1
        self.lost.bytes += self._at - begun
        if head and self._at == begun + HEADER + head.size:
            self.lost.records += head.records - given
        else:
            self.lost.uncounted += 1
        import warnings

        warnings.warn(f"{where}; {self._at - begun} bytes are skipped", DamagedWarning, stacklevel=4)


class writer:  # noqa: N801  # beside `reader`
    """Writes records into a file; `close` writes the last chunk."""

    def __init__(self, file: _File, chunk: int = SIZE, compressor: str = "none") -> None:
        if compressor not in COMPRESSORS:
            raise DatasetMisuse(f"compressor={compressor!r}: expected one of {', '.join(COMPRESSORS)}")
        if compressor == "snappy":
            from launcher.dataset.snappy import check_writable

            check_writable()
        self._file, self.name, self._mine = _opened_file(file, "wb")
        self._size, self._compressor = chunk, COMPRESSORS[compressor]
        self._records: list[bytes] = []
        self._bytes = 0

    def write(self, record: bytes) -> None:
        """Add a record."""
        if len(record) > LARGEST:
            raise DatasetMisuse(f"{self.name}: a record of {len(record)} bytes: expected at most {LARGEST}")
        # As the published writer does it, which counts the records' bytes without their lengths.
        if self._bytes + len(record) > self._size or len(self._records) * 4 >= CHUNK_LIMIT // 2:
            self.flush()
        self._records.append(record)
        self._bytes += len(record)

    def flush(self) -> None:
        """Write the collected records as a chunk."""
        if self._records:
            self._file.write(encode_chunk(self._records, self._compressor))
            self._records, self._bytes = [], 0

    def close(self) -> None:
        """Write the last chunk, and close the file if it was opened here."""
        try:
            self.flush()
        finally:
            if self._mine:
                self._file.close()

    def __enter__(self) -> writer:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


class _Chunk:
    """A chunk's position: the number of its first record, its records, its bytes from `offset` to `end`."""

    __slots__ = ("end", "first", "offset", "records")

    def __init__(self, first: int, records: int, offset: int, end: int) -> None:
        self.first, self.records, self.offset, self.end = first, records, offset, end


def index(file: _File, limit: int = CHUNK_LIMIT) -> Sequence[_Chunk]:
    """Return the position of each chunk; the format has no index, and only headers are read."""
    handle, name, mine = _opened_file(file, "rb")
    found: list[_Chunk] = []
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
            found.append(_Chunk(first, head.records, at, at + HEADER + head.size))
            first, at = first + head.records, found[-1].end
    finally:
        if mine:
            handle.close()
    return found


def _opened_file(file: _File, mode: str) -> tuple[BinaryIO, str, bool]:
    """Return an open file, its name for messages, and whether it was opened here."""
    if hasattr(file, "read" if mode == "rb" else "write"):
        return file, shown(getattr(file, "name", "the file")), False  # type: ignore[return-value]
    return open(file, mode), shown(file), True  # type: ignore[arg-type, return-value]
