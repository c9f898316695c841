"""The files to copy: the entries below a directory, in order, and in batches of limited size."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from launcher.safefs.dirs import Dir, Tree, what
from launcher.safefs.parallel import Workers
from launcher.safefs.refusals import is_absent
from launcher.text import shown
from launcher.transfer.chunks import count_of
from launcher.transfer.names import checked_path, divided, joined
from launcher.transfer.problem import TransferError

MOST_ENTRIES = 500_000  # files and directories: they are held in memory
IN_A_BATCH, TEXT, DIGESTS = 1000, 512 << 10, 16384
A_DIRECTORY = -1


@dataclass(frozen=True, slots=True)
class TreeEntry:
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
    """The entries that are copied, and the reasons why others are not."""

    entries: tuple[TreeEntry, ...]
    skipped: tuple[str, ...]
    lost: tuple[str, ...]  # what should have been copied, and cannot even be looked at
    single: bool  # one file that was named, and may be called otherwise where it arrives


def nothing_stays(path: str, directory: bool) -> bool:  # noqa: ARG001  # what `stays` is asked
    """Copy everything."""
    return False


def tree_listed(
    tree: Tree, base: str, first: str, workers: Workers, stays: Callable[[str, bool], bool] = nothing_stays
) -> Listing:
    """Return what is at `first` and below it, by paths below `base`; without `first`, all that is below `base`.

    Of what `stays`, by its path and whether it is a directory, nothing is copied.
    """
    if tree.status(joined(base, first)) is None:
        raise TransferError(f"{shown(joined(base, first))} is not there")
    entries: list[TreeEntry] = []
    skipped: list[str] = []
    lost: list[str] = []
    left: list[str] = []
    paths = [first] if first else _names(tree, base, "")
    while True:
        if len(entries) + len(paths) > MOST_ENTRIES:
            raise TransferError(
                f"{shown(joined(base, first))} has more than {MOST_ENTRIES:,} files: copy its directories one by one"
            )
        found = list(workers.each(_looks(tree, base, paths)))
        here = [each for each in found if isinstance(each, TreeEntry) and not stays(each.path, each.is_directory)]
        entries += here
        skipped += [each for each in found if isinstance(each, str)]
        lost += [str(each) for each in found if isinstance(each, TransferError)]
        left += [each.path for each in reversed(here) if each.is_directory]
        if not left:
            break
        try:
            paths = _names(tree, base, left.pop())
        except TransferError as trouble:
            lost.append(str(trouble))
            paths = []
    single = bool(first) and len(entries) == 1 and not entries[0].is_directory
    return Listing(tuple(entries), tuple(skipped), tuple(lost), single)


def batches(entries: Iterable[TreeEntry]) -> Iterator[tuple[TreeEntry, ...]]:
    """Yield entries as many at a time as fit into a frame, with the digests of all that could be there already."""
    batch: list[TreeEntry] = []
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
    return [joined(path, name) for name in tree.names(joined(base, path))]


def _looks(
    tree: Tree, base: str, paths: Iterable[str]
) -> Iterator[Callable[[], TreeEntry | str | TransferError | None]]:
    for path in paths:
        yield partial(_entry, tree.lent(joined(base, path)), path)


def _entry(within: Dir, path: str) -> TreeEntry | str | TransferError | None:
    """Return what is there, why it is not copied or cannot be, or nothing where it went; the directory is closed."""
    try:
        name = divided(checked_path(path))[1]
        with within.naming(name):
            found = os.stat(name, dir_fd=within.fd, follow_symlinks=False)
    except TransferError as trouble:
        if trouble.__cause__ is None:
            return str(trouble)  # a name that the other end refuses
        return None if is_absent(trouble) else trouble
    finally:
        os.close(within.fd)
    if stat.S_ISDIR(found.st_mode):
        return TreeEntry(path, A_DIRECTORY)
    if stat.S_ISREG(found.st_mode):
        return TreeEntry(path, found.st_size, bool(found.st_mode & stat.S_IXUSR))
    return f"{shown(path)} is {what(found.st_mode)}"
