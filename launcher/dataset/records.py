"""The records of one open file from a position on, in batches: lines of text or gzip, or those of RecordIO."""

from __future__ import annotations

import os

from launcher.dataset import recordio
from launcher.dataset.problem import DatasetError
from launcher.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from gzip import GzipFile
    from io import FileIO

    Batches = Iterator[tuple[list[bytes], int]]

BLOCK = 1 << 20
RECORDS = 1000  # at a time, however small
LONGEST_RECORD = 64 << 20  # bytes of a line
_GZIP = b"\x1f\x8b"


def text_records(raw: FileIO, at: int, path: str) -> Batches:
    """Yield lines from a byte of the text on, with the position after them; gzip is recognised."""
    text = _text(raw, path)
    text.seek(at)
    begun = b""
    while True:
        block = text.read(BLOCK)
        if not block:
            break
        begun += block
        end = begun.rfind(b"\n") + 1
        if end:
            at += end
            yield begun[: end - 1].split(b"\n"), at
            begun = begun[end:]
        if len(begun) > LONGEST_RECORD:
            raise DatasetError(
                f"{shown(path)}: a line of more than {LONGEST_RECORD} bytes: expected text with one record a line"
            )
    if begun:
        yield [begun], at + len(begun)


def chunked(raw: FileIO, at: int, path: str) -> Batches:
    """Yield RecordIO's records from this number on, with the number after them."""
    records = recordio.reader(raw)
    records.name = shown(path)
    if at:
        records.seek(at)
    return batched(records, at)


def batched(records: Iterable[bytes], at: int) -> Batches:
    """Yield records in batches, bounded in number and bytes, with the number after them."""
    batch: list[bytes] = []
    size = 0
    for record in records:
        batch.append(record)
        size += len(record)
        if size >= BLOCK or len(batch) == RECORDS:
            at += len(batch)
            yield batch, at
            batch, size = [], 0
    if batch:
        yield batch, at + len(batch)


def decoded(line: bytes) -> str:
    """Return a line as text, whatever bytes it holds."""
    return line.decode("utf-8", "surrogateescape")


def _text(raw: FileIO, path: str) -> FileIO | GzipFile:
    if os.pread(raw.fileno(), len(_GZIP), 0) != _GZIP:
        return raw
    import gzip

    return gzip.GzipFile(filename=path, fileobj=raw, mode="rb")
