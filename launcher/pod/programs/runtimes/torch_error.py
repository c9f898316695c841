"""What a torch program left in TORCHELASTIC_ERROR_FILE when it failed.

No I/O here. `record` of torch/distributed/elastic/multiprocessing/errors writes it, in this form:
{"message": {"message": "ValueError: ...", "extraInfo": {...}}}, or a text in place of the inner object.
"""

from __future__ import annotations

import json

from launcher.text import visible

LONGEST = 300  # characters


def told_in(local: int) -> str:
    """Return the name of the file of one of a pod's programs."""
    return f"torch-error-{local}.json" if local else "torch-error.json"


def cause(text: bytes) -> str:
    """Return what the program says of its failure, in a line; nothing where that cannot be read."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    for _ in range(2):
        said = said.get("message") if isinstance(said, dict) else said
    first, _, _ = said.strip().partition("\n") if isinstance(said, str) else ("", "", "")
    return visible(first, LONGEST)
