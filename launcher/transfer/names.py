"""Names of files as the other end sends them: which are accepted, and which are refused.

No I/O here.
"""

from __future__ import annotations

import hashlib
import re
import secrets

from launcher.text import shown
from launcher.transfer.problem import TransferError

LONGEST_PATH, LONGEST_PART = 4000, 255  # bytes, as Linux has them, with room for where it goes
PART = re.compile(r"\.paddlectl-[0-9a-f]{16}\.part")


def checked_path(path: object) -> str:
    """Return a relative path that stays below what it is joined to."""
    if not isinstance(path, str) or not path or "\0" in path or path.startswith("/"):
        raise TransferError(f"{shown(path)} is refused: expected a relative path")
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise TransferError(f"{shown(path)} is refused: expected a path without `..`, `.` and `//`")
    try:
        sizes = [len(part.encode(errors="surrogateescape")) for part in parts]
    except UnicodeEncodeError:  # half of a pair that stands for no byte
        raise TransferError(f"{shown(path)} is refused: it cannot be a file's name") from None
    if max(sizes) > LONGEST_PART or sum(sizes) + len(sizes) > LONGEST_PATH:
        raise TransferError(f"{shown(path)} is refused: it is longer than a path can be")
    if PART.fullmatch(parts[-1]):
        raise TransferError(f"{shown(path)} is refused: such names are kept for files that are still being copied")
    return path


def below(path: object) -> str:
    """Return a checked path; the empty one is the top itself."""
    return checked_path(path) if path != "" else ""


def divided(path: str) -> tuple[str, str]:
    """Return the directory of a path, and its last part."""
    directory, _, last = path.rpartition("/")
    return directory, last


def joined(directory: str, path: str) -> str:
    """Return a path below a directory; nothing is the top itself."""
    return "/".join(filter(None, (directory, path)))


def part_of(name: str) -> str:
    """Return the name of this file while it is unfinished: the same each time, so that a later copy finds it."""
    return f".paddlectl-{hashlib.sha256(name.encode(errors='surrogateescape')).hexdigest()[:16]}.part"


def a_part() -> str:
    """Return a name for an unfinished file that no other copy uses."""
    return f".paddlectl-{secrets.token_hex(8)}.part"
