"""How many accelerators this pod sees, by the device files that its runtime was given."""

from __future__ import annotations

import re
from pathlib import Path

_CARD = re.compile(r"(nvidia|accel)[0-9]+")  # the files of a driver, nvidiactl and its like, are no cards


def attached(where: Path = Path("/dev")) -> int:
    """Return how many there are."""
    return sum(1 for file in where.iterdir() if _CARD.fullmatch(file.name))
