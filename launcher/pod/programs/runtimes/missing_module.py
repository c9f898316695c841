"""What a program says last where its Python lacks a module, such as the framework of its runtime.

No I/O here.
"""

from __future__ import annotations

import re

# Python's own last line, or that of a program which tells an ImportError as the tracker does.
_MISSING = re.compile(r"\b(No module named '[\w.]+')$")


def missing_words(tail: str, python: str | None) -> str:
    """Return which module is missing, and in which Python where that is known; nothing where none is said to be."""
    *_, last = tail.rstrip().splitlines() or [""]
    found = _MISSING.search(last)
    if found is None:
        return ""
    return f"{found[1]} in {python}" if python else found[1]
