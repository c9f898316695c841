"""What stands in a file to which somebody may just be writing."""

from __future__ import annotations

from pathlib import Path


def whole_lines(file: Path) -> list[str]:
    """Return the lines of a file, none where it is not there.

    Though each was written at once, a reader may see the last one up to where a page of memory ends.
    """
    text = file.read_text() if file.exists() else ""
    return text[: text.rfind("\n") + 1].split("\n")[:-1]
