"""What is remembered of staged directories, so that nothing else is ever deleted.

No I/O here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

Identity = tuple[int, int]  # device and inode: a rename keeps both


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """Which directories are staged ones, and which the user's that has a whole copy once `data.before` is there."""

    staged: frozenset[Identity] = frozenset()
    copied: frozenset[Identity] = frozenset()
    made_of: str = ""  # the sources of `data`, as a digest of their paths

    def text(self) -> str:
        """Return the marker as its file has it."""
        return (
            json.dumps({"staged": sorted(self.staged), "copied": sorted(self.copied), "made_of": self.made_of}) + "\n"
        )

    @classmethod
    def parse(cls, text: str) -> Marker:
        """Return the marker in a file; one that cannot be read knows nothing, so that nothing is deleted."""
        try:
            found = json.loads(text)
            staged, copied = _identities(found["staged"]), _identities(found["copied"])
            return cls(staged=staged, copied=copied, made_of=str(found.get("made_of", "")))
        except (ValueError, KeyError, TypeError):
            return cls()


def _identities(found: object) -> frozenset[Identity]:
    if not isinstance(found, list):
        raise TypeError
    return frozenset((int(device), int(inode)) for device, inode in found)
