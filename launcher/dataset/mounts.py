"""Whether a directory is on a volume, or the container's own and gone with it."""

from __future__ import annotations

import os
import re

from launcher.dataset.problem import Misuse
from launcher.text import shown

OCTAL = re.compile(r"\\([0-7]{3})")


def refuse_no_mount(out: str, mounts: str) -> None:
    """Refuse a directory that is the container's own: what is written there goes with the container."""
    path = os.path.realpath(out)
    points = [OCTAL.sub(lambda code: chr(int(code[1], 8)), line.split(" ")[4]) for line in mounts.splitlines()]
    over = [point for point in points if path == point or path.startswith(point.rstrip("/") + "/")]
    if not over or max(over, key=len) == "/":
        raise Misuse(
            f"OUT_DIR={shown(out)} is on no volume: what is written there goes with this container; "
            "expected a directory on a volume: mount the claim there, or set OUT_DIR to where it is mounted"
        )
