"""How far a copy is, and how it ended.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Count:
    """Files and bytes, of those that there are; `came` are the bytes that had to cross."""

    all_files: int = 0
    all_bytes: int = 0
    files: int = 0
    bytes: int = 0
    came: int = 0
    skipped: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    unfinished: int = 0


TellCount = Callable[[Count], None]


def no_tell(_: Count) -> None:
    """Show no progress."""
