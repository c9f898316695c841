"""Directories laid over each other, the last one on top: what stands in them, and below them.

Nothing is changed here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum

from launcher.safefs.dirs import Dir, directory_inside, what
from launcher.text import shown


class Kind(Enum):
    """What is copied; everything else is refused, but for what a training left where it was copied to."""

    FILE = stat.S_IFREG
    DIRECTORY = stat.S_IFDIR
    LINK = stat.S_IFLNK
    LEFT = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A name in directories laid over each other: a directory in all that have it, anything else in the last one."""

    name: str
    kind: Kind
    dirs: tuple[Dir, ...]

    @property
    def at(self) -> Dir:
        """The directory that counts."""
        return self.dirs[-1]

    @property
    def path(self) -> str:
        """The path for messages."""
        return self.at.path_of(self.name)


@contextmanager
def all_inside(found: Found) -> Iterator[tuple[Dir, ...]]:
    """Open a directory in each of the directories that have it."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(directory_inside(each, found.name)) for each in found.dirs)


def laid_over(dirs: Sequence[Dir]) -> dict[str, Found]:
    """Return what stands in the directories laid over each other, the last one on top."""
    found: dict[str, Found] = {}
    for each in dirs:
        with each.naming(), os.scandir(each.fd) as entries:
            for entry in entries:
                if entry.name not in each.without:
                    found[entry.name] = _lay(found.get(entry.name), entry, each)
    return found


def walk(dirs: Sequence[Dir], above: str = "") -> Iterator[tuple[str, Found]]:
    """Yield everything in and below the directories laid over each other, with its path in the tree."""
    for found in laid_over(dirs).values():
        path = above + found.name
        yield path, found
        if found.kind is Kind.DIRECTORY:
            with all_inside(found) as below:
                yield from walk(below, path + "/")


def _lay(below: Found | None, entry: os.DirEntry[str], at: Dir) -> Found:
    kind = _entry_kind(entry, at)
    if below and (below.kind is Kind.DIRECTORY) != (kind is Kind.DIRECTORY):
        raise below.at.refused(
            below.name,
            f"and {shown(at.path_of(entry.name))} go to one place, and one of them is a directory: "
            "expected two directories or two files; rename one",
        )
    both = below.dirs if below and kind is Kind.DIRECTORY else ()
    return Found(name=entry.name, kind=kind, dirs=(*both, at))


def _entry_kind(entry: os.DirEntry[str], at: Dir) -> Kind:
    # The listing itself tells these without asking for each file.
    if entry.is_file(follow_symlinks=False):
        return Kind.FILE
    if entry.is_dir(follow_symlinks=False):
        return Kind.DIRECTORY
    if at.ours and not entry.is_symlink():
        return Kind.LEFT
    mode = entry.stat(follow_symlinks=False).st_mode
    try:
        return Kind(stat.S_IFMT(mode))
    except ValueError:
        why = f"is {what(mode)}: expected only files, directories and links; remove it"
        raise at.refused(entry.name, why) from None
