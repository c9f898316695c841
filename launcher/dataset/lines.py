"""A record as a line of text, and back.

No I/O here.
"""

from __future__ import annotations

from launcher.dataset.problem import DatasetError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def record_line(record: object) -> bytes:
    """Return a record as a line without its end: text unchanged, several values with commas between them."""
    if isinstance(record, bytes):
        line = record
    elif isinstance(record, str):
        line = _encoded(record, record)
    else:
        try:
            cells = [str(cell) for cell in record]  # type: ignore[attr-defined]  # whatever can be iterated over
        except TypeError:
            raise DatasetError(f"a record of {type(record).__name__}: expected text or several values") from None
        if any("," in cell for cell in cells):
            raise DatasetError(f"{_short(record)}: a comma in a value would make two values of it: expected no comma")
        line = _encoded(",".join(cells), record)
    if line.endswith(b"\n") and isinstance(record, (bytes, str)):
        line = line[:-1]  # as lines of a file come
    if b"\n" in line:
        raise DatasetError(
            f"{_short(record)}: a line break in a record would make two records of it: expected no line break"
        )
    return line


def values_of(line: str, cell: Callable[[str], Any]) -> tuple[Any, ...]:
    """Return the values of a line, each made by `cell`."""
    text = line.rstrip("\n")
    return tuple(cell(each) for each in text.split(",")) if text else ()


def _encoded(text: str, record: object) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise DatasetError(f"{_short(record)}: half a character, which UTF-8 cannot encode: expected text") from None


def _short(record: object) -> str:
    return repr(record)[:80]
