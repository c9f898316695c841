"""Files that are written together: all of them appear under their names at the end, or none does."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from launcher.dataset.problem import DatasetMisuse
from launcher.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

FIELD = re.compile(r"%(?:%|0?\d*d)")


class Parts:
    """The unfinished parts: hidden files beside the final ones, so that no glob pattern finds them."""

    def __init__(self, place: str) -> None:
        self.directory, self.name = os.path.split(os.fspath(place))
        self._made: list[str] = []
        self._begun = not os.path.isdir(self.directory or ".")
        os.makedirs(self.directory or ".", exist_ok=True)

    def new(self) -> BinaryIO:
        """Open the next part for writing."""
        title = re.sub(r"[^\w.-]", "_", self.name)
        path = os.path.join(self.directory, f".{title}.{len(self._made)}.part")
        self._made.append(path)
        return open(path, "wb")  # its user closes it

    def place(self, names: Sequence[str], ours: Callable[[str], bool]) -> None:
        """Rename the parts to `names`; refuse if files of an earlier run would mix with them."""
        stale = sorted(name for name in os.listdir(self.directory or ".") if ours(name) and name not in names)
        if stale:
            where = os.path.join(self.directory, stale[0])
            raise DatasetMisuse(
                f"{shown(where)} is left from an earlier run (such files: {len(stale)}); readers would take it "
                "for a part of this one: remove these files, or choose another name"
            )
        for made, name in zip(self._made, names):  # noqa: B905  # Python 3.8 has no strict=
            os.replace(made, os.path.join(self.directory, name))
        self._made = []

    def __enter__(self) -> Parts:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the parts that were not renamed."""
        for path in self._made:
            with suppress(OSError):
                os.unlink(path)
        if self._begun:
            with suppress(OSError):  # only where nothing was put into it
                os.rmdir(self.directory)


def numbered(suffix: str) -> str:
    """Return a suffix that holds one number's field, as %05d, or refuse it."""
    fields = [field for field in FIELD.findall(suffix) if field != "%%"]
    if len(fields) != 1 or "%" in FIELD.sub("", suffix) or FIELD.search(os.path.dirname(suffix)):
        raise DatasetMisuse(
            f"suffix={suffix!r}: expected one field for the file's number in its name, such as 'train-%05d.pickle'"
        )
    return suffix


def pattern(suffix: str) -> Callable[[str], bool]:
    """Return a test for names that the suffix makes."""
    pieces = FIELD.split(suffix)
    fields = FIELD.findall(suffix)
    text = re.escape(pieces[0])
    for field, piece in zip(fields, pieces[1:]):  # noqa: B905  # Python 3.8 has no strict=
        text += ("%" if field == "%%" else r"\d+") + re.escape(piece)
    found = re.compile(text)
    return lambda name: found.fullmatch(name) is not None


def positive(name: str, number: int) -> int:
    """Return a whole number of 1 or more, or refuse it."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise DatasetMisuse(f"{name}={number!r}: expected a whole number, 1 or more")
    return number
