"""Texts of others, made fit for a message, a table or a page: nothing in them moves a terminal's cursor.

No I/O here. Python 3.8. Escaping for HTML is another matter: `report.markup` does it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CUT = "..."
LONGEST_NAME_SHOWN = 1000  # characters of a name in a message


def visible(text: object, limit: int = 0) -> str:
    """Return a text with `?` for what cannot be seen, a blank for a tab or newline, cut where a limit is given."""
    cut = _cut(str(text), limit)
    return cut if cut.isprintable() else "".join(map(_seen, cut))


def one_line(text: object, limit: int = 0) -> str:
    """Return a text of any number of lines as one."""
    whole = str(text)
    return visible(" ".join((whole[: 10 * limit] if limit else whole).split()), limit)


def shown(name: object) -> str:
    """Return a file's name or path: unprintable characters and foreign bytes as escapes, which name it exactly."""
    text = str(name)
    return _cut(text if text.isprintable() else repr(text), LONGEST_NAME_SHOWN)


def split_lines(pieces: Iterable[bytes], longest: int) -> Iterator[bytes]:
    """Yield the lines of what comes in pieces, without their ends; one that is too long comes in pieces, too."""
    half = b""
    for piece in pieces:
        *whole, half = (half + piece).split(b"\n")
        yield from whole
        if len(half) > longest:
            yield half
            half = b""
    if half:
        yield half


def _seen(letter: str) -> str:
    return letter if letter.isprintable() else " " if letter.isspace() else "?"


def _cut(text: str, limit: int) -> str:
    return text if not limit or len(text) <= limit else text[: limit - len(CUT)] + CUT
