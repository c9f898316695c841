"""What an earlier staging copied, noted file by file, and what of it a later one takes over in place of copying it.

A copy is known by its size, time and inode: one that a program wrote, or put something else in the place of, is not
taken. It is taken by a hard link: until the new tree is complete the earlier one stays as it is.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from launcher.safefs.dirs import Dir
from launcher.safefs.overlay import Found


class Copied(NamedTuple):
    """A copy as it was made: from a file below which directory, and how it is known again."""

    source: str
    size: int
    mtime: int  # in nanoseconds, which is that of the file it was copied from
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """The copies in a staged tree, by their paths in it; the token says of which tree."""

    token: str
    files: Mapping[str, Copied]

    def text(self) -> str:
        """Return the note of them."""
        below: dict[str, dict[str, list[int]]] = {}
        for path, (source, *facts) in self.files.items():
            below.setdefault(source, {})[path] = facts
        return json.dumps({"token": self.token, "copied": below}) + "\n"

    @classmethod
    def parse(cls, text: str) -> Copies:
        """Return what a note says; one that cannot be read knows nothing, so that all is copied."""
        try:
            found = json.loads(text)
            files = {
                path: Copied(source, int(size), int(mtime), int(inode))
                for source, those in found["copied"].items()
                for path, (size, mtime, inode) in those.items()
            }
            return cls(token=str(found["token"]), files=files)
        except (ValueError, KeyError, TypeError, AttributeError):
            return cls(token="", files={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """A tree that was staged before, if there is one, and its copies."""

    tree: Dir | None = None
    files: Mapping[str, Copied] = field(default_factory=dict)

    def bytes_of(self, sources: Iterable[str]) -> int:
        """Return how much there is of what was copied from these directories."""
        wanted = set(sources)
        return sum(each.size for each in self.files.values() if each.source in wanted)

    def link(self, found: Found, path: str, into: Dir) -> bool:
        """Put the earlier copy of a file into its place, if it is that still; whether the file is, is not asked."""
        was = self.files.get(path)
        if self.tree is None or was is None:
            return False
        try:
            os.link(path, found.name, src_dir_fd=self.tree.fd, dst_dir_fd=into.fd, follow_symlinks=False)
        except OSError:  # no such file any more, or no such links here: it is copied, which tells what is wrong
            return False
        if as_copied(found, path, into) == was:
            return True
        with into.naming(found.name):
            os.unlink(found.name, dir_fd=into.fd)
        return False


def as_copied(found: Found, path: str, into: Dir) -> Copied | None:
    """Return by what the copy of a file is known again."""
    with into.naming(found.name):
        info = os.stat(found.name, dir_fd=into.fd, follow_symlinks=False)
    if not stat.S_ISREG(info.st_mode):
        return None
    return Copied(_top(found, path), info.st_size, info.st_mtime_ns, info.st_ino)


def _top(found: Found, path: str) -> str:
    """Return the directory of which a file has this path in the tree that is made."""
    return found.path[: -len(path) - 1]
