"""The images by hand: `python -m tests.grounds.docker base` makes the bases, `... all` what stands on it as well."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.grounds.docker import NotHere, paddle_tar
from tests.grounds.docker.base import bases

TARS: dict[str, Callable[[], Path]] = {"base": bases, "all": paddle_tar}


def main(words: Sequence[str]) -> int:
    """Make what the word says, and say where it is."""
    if len(words) != 1 or words[0] not in TARS:
        print(__doc__, file=sys.stderr)
        return 64
    try:
        print(TARS[words[0]]())
    except NotHere as fault:
        print(f"no containers here: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
