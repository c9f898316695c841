"""Hides the values of flags that are named like a secret, wherever a command line or a value is shown.

No I/O here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# Bounded on both sides of the name, or a long word would take time with the square of its length.
SECRET = re.compile(
    r"((?<![-\w])--?[^=\s]{0,64}?(?:passw|pwd|token|secret|credential|(?:api|access|private)[-_]?key)[^=\s]{0,64}[=\s]).*",
    re.IGNORECASE | re.DOTALL,
)
_PATH = re.compile(r"\bPATH=[^;]*")


def hidden(text: str) -> str:
    """Return a text with what follows the first secret's name hidden, to its end."""
    return SECRET.sub(r"\1***", text)


def masked(argv: Sequence[str]) -> list[str]:
    """Return a command line with the values of flags named like a secret hidden, to the end of their words."""
    shown = []
    hide = False
    for word in argv:
        shown.append("***" if hide else hidden(word))
        hide = "=" not in word and SECRET.fullmatch(word + "=") is not None
    return shown


def without_path(text: str) -> str:
    """Return a sentence without the directories that programs are looked for in."""
    return _PATH.sub("PATH", text)
