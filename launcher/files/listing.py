"""What there is to copy: the entries below a directory, in order, and how many are spoken of at once."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from launcher.files.chunks import count_of
from launcher.files.names import checked, joined, shown
from launcher.files.problem import Trouble
from launcher.files.tree import Tree

MOST = 500_000  # files and directories: they are held in memory
IN_A_BATCH, TEXT, DIGESTS = 1000, 512 << 10, 16384
A_DIRECTORY = -1


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a directory, by its path below what is copied."""

    path: str
    size: int
    runs: bool = False

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return self.size == A_DIRECTORY


@dataclass(frozen=True, slots=True)
class Listing:
    """What is copied, and why something is not."""

    entries: tuple[Entry, ...]
    skipped: tuple[str, ...]
    single: bool  # one file that was named, and may be called otherwise where it arrives


def listed(tree: Tree, base: str, first: str) -> Listing:
    """Return what is at `first` and below it, by paths below `base`; without `first`, all that is below `base`."""
    if tree.status(joined(base, first)) is None:
        raise Trouble(f"{shown(joined(base, first))} is not there")
    entries: list[Entry] = []
    skipped: list[str] = []
    left = [first] if first else _names(tree, base, "")
    while left:
        path = left.pop()
        entry = _entry(tree, base, path, skipped)
        if entry is None:
            continue
        entries.append(entry)
        if len(entries) > MOST:
            raise Trouble(
                f"{shown(joined(base, first))} has more than {MOST:,} files: copy its directories one by one"
            )
        if entry.is_directory:
            left += _names(tree, base, path)
    single = bool(first) and len(entries) == 1 and not entries[0].is_directory
    return Listing(tuple(entries), tuple(skipped), single)


def batches(entries: Iterable[Entry]) -> Iterator[tuple[Entry, ...]]:
    """Yield entries as many at a time as fit into a frame, with the digests of all that could be there already."""
    batch: list[Entry] = []
    text = digests = 0
    for entry in entries:
        long, many = 6 * len(entry.path) + 40, count_of(max(entry.size, 0))
        if batch and (len(batch) == IN_A_BATCH or text + long > TEXT or digests + many > DIGESTS):
            yield tuple(batch)
            batch, text, digests = [], 0, 0
        batch.append(entry)
        text, digests = text + long, digests + many
    if batch:
        yield tuple(batch)


def _names(tree: Tree, base: str, path: str) -> list[str]:
    return [joined(path, name) for name in reversed(tree.names(joined(base, path)))]


def _entry(tree: Tree, base: str, path: str, skipped: list[str]) -> Entry | None:
    try:
        checked(path)
        found = tree.status(joined(base, path))
    except Trouble as trouble:
        skipped.append(str(trouble))
        return None
    if found is None:  # it went meanwhile
        return None
    if stat.S_ISDIR(found.st_mode):
        return Entry(path, A_DIRECTORY)
    if stat.S_ISREG(found.st_mode):
        return Entry(path, found.st_size, bool(found.st_mode & stat.S_IXUSR))
    skipped.append(f"{shown(path)} is {'a link' if stat.S_ISLNK(found.st_mode) else 'no plain file'}")
    return None
