"""Text of others, made fit to be shown.

No I/O here. Escaping is another matter: `markup` does it.
"""

from __future__ import annotations

import re

# Control characters, halves of pairs, and marks that turn the direction of what follows.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]+")


def visible(text: object, limit: int = 400) -> str:
    """Return a text, shortened, with a mark for what cannot be seen."""
    if not isinstance(text, str):
        return ""
    cut = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return UNSEEN.sub(lambda run: " " if run[0].isspace() else "\ufffd", cut).strip()
