"""What this process has open, by number and by what it is: what an earlier test left may close at any moment."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def descriptors() -> frozenset[tuple[str, str]]:
    """Return each descriptor with what it leads to; what a test left open is then in `descriptors() - before`."""
    found = set()
    for each in list(Path("/proc/self/fd").iterdir()):
        with suppress(FileNotFoundError):  # the one that listed them
            found.add((each.name, str(each.readlink())))
    return frozenset(found)
