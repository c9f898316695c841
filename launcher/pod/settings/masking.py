"""Hides what is named like a secret, and passwords in addresses, wherever a command line or a value is shown.

No I/O here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_KIND = "(?:passw|pwd|token|secret|credential|(?:api|access|private)[-_]?key)"
# Bounded on both sides of the name, or a long word would take time with the square of its length.
_FLAG = rf"--?[^=\s]{{0,64}}?{_KIND}[^=\s]{{0,64}}[=\s]"
_NAME = rf"[\w.-]{{0,64}}?{_KIND}[\w.-]{{0,64}}[\"']?[=:]"
SECRET = re.compile(rf"((?<![-\w])(?:{_FLAG}|{_NAME})).*", re.IGNORECASE | re.DOTALL)
_USER = re.compile(r"://[^\s/:@]{0,256}:")


def hidden(text: str) -> str:
    """Return a text with what follows the first secret's name hidden, to its end, and each password in an address."""
    return SECRET.sub(r"\1***", re.sub(r"\S+", lambda found: _without_password(found[0]), text))


def masked(argv: Sequence[str]) -> list[str]:
    """Return a command line with all that is secret hidden, to the end of its word, and the word after a flag."""
    shown = []
    hide = False
    for word in argv:
        shown.append("***" if hide else hidden(word))
        hide = word.startswith("-") and "=" not in word and SECRET.fullmatch(word + "=") is not None
    return shown


def _without_password(word: str) -> str:
    """Return scheme://user:***@host; a password may have any letters in it, `@` among them."""
    before, at, after = word.rpartition("@")
    user = _USER.search(before)
    return f"{before[: user.end()]}***@{after}" if at and user else word
