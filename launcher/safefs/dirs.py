"""Directories held by their descriptors: opened without following a link, listed laid over each other.

Nothing is changed here. What the system refuses becomes a `ShardError` that names the path.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from launcher.pod.outcome import ShardError
from launcher.safefs.refusals import naming
from launcher.text import shown

DEPTH = 100  # each level holds descriptors open, and a process may have few of them
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Without O_NONBLOCK, opening what has become a FIFO since it was listed would wait for ever.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


class Kind(Enum):
    """What is copied; everything else is refused, but for what a training left where it was copied to."""

    FILE = stat.S_IFREG
    DIRECTORY = stat.S_IFDIR
    LINK = stat.S_IFLNK
    LEFT = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dir:
    """An open directory, the path that messages have for it, and the names in it that are passed over.

    `ours` is one that is copied to: what it holds may be of any kind.
    """

    fd: int
    path: str
    trusted: bool = False
    ours: bool = False
    depth: int = 0
    without: frozenset[str] = frozenset()


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
        return f"{self.at.path}/{self.name}"


class opened:  # noqa: N801  # used as a verb: `with opened(...) as fd: ...`
    """Opens a name in a directory; a failing close counts, since network file systems report lost writes there."""

    __slots__ = ("_fd", "_path")

    def __init__(
        self, path: str, flags: int, *, name: str, at: int | None, mode: int = 0o600, advice: str = ""
    ) -> None:
        self._path = path
        with naming(path, advice):
            self._fd = os.open(name, flags, mode, dir_fd=at)

    def __enter__(self) -> int:
        """Return the descriptor."""
        return self._fd

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Close it; another error comes first."""
        if error is None:
            with naming(self._path):
                os.close(self._fd)
        else:
            with suppress(OSError):
                os.close(self._fd)


@contextmanager
def directory(path: Path, *, trusted: bool = False, ours: bool = False, advice: str = "") -> Iterator[Dir]:
    """Open a directory by a path that is trusted, links in it followed."""
    flags = os.O_RDONLY | os.O_DIRECTORY
    with opened(str(path), flags, name=str(path), at=None, advice=advice) as fd:
        yield Dir(fd=fd, path=str(path), trusted=trusted, ours=ours)


@contextmanager
def inside(parent: Dir, name: str, advice: str = "") -> Iterator[Dir]:
    """Open a directory in a directory."""
    path = f"{parent.path}/{name}"
    if parent.depth == DEPTH:
        raise ShardError(f"{shown(path)}: expected at most {DEPTH} directories in each other; pack the deepest")
    with opened(path, DIRECTORY, name=name, at=parent.fd, advice=advice) as fd:
        yield Dir(fd=fd, path=path, trusted=parent.trusted, ours=parent.ours, depth=parent.depth + 1)


@contextmanager
def all_inside(found: Found) -> Iterator[tuple[Dir, ...]]:
    """Open a directory in each of the directories that have it."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(inside(each, found.name)) for each in found.dirs)


def format_of(parent: Dir, name: str) -> int:
    """Return what kind of thing a name in a directory is, as stat has it; 0 if there is none."""
    with naming(f"{parent.path}/{name}"):
        try:
            return stat.S_IFMT(os.stat(name, dir_fd=parent.fd, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return 0


def names(parent: Dir) -> tuple[str, ...]:
    """Return the names in a directory."""
    with naming(parent.path):
        return tuple(os.listdir(parent.fd))  # noqa: PTH208  # by descriptor, which no Path has


def laid_over(dirs: Sequence[Dir]) -> dict[str, Found]:
    """Return what stands in the directories laid over each other, the last one on top."""
    found: dict[str, Found] = {}
    for each in dirs:
        with naming(each.path), os.scandir(each.fd) as entries:
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


def refuse_same_names(dirs: Sequence[Dir]) -> None:
    """Refuse several shards that have a file of the same name: one would cover the other."""
    first: dict[str, str] = {}
    for each in dirs if len(dirs) > 1 else ():
        for path, found in walk((each,)):
            if found.kind is not Kind.DIRECTORY and first.setdefault(path, found.path) != found.path:
                raise ShardError(
                    f"{shown(first[path])} and {shown(found.path)} go to one place, as this rank has both shards: "
                    "expected a name of its own for each file; rename one, or split the data into one shard a trainer"
                )


def kind_of(mode: int, path: str) -> Kind:
    """Return what is to be copied, or refuse what cannot be."""
    try:
        return Kind(stat.S_IFMT(mode))
    except ValueError:
        raise ShardError(
            f"{shown(path)} is {_SPECIAL.get(stat.S_IFMT(mode), 'of a kind unknown')}: "
            "expected only files, directories and links; remove it"
        ) from None


def _lay(below: Found | None, entry: os.DirEntry[str], at: Dir) -> Found:
    kind = _entry_kind(entry, at)
    if below and (below.kind is Kind.DIRECTORY) != (kind is Kind.DIRECTORY):
        raise ShardError(
            f"{shown(below.path)} and {shown(at.path + '/' + entry.name)} go to one place, and one of them is a "
            "directory: expected two directories or two files; rename one"
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
    return kind_of(entry.stat(follow_symlinks=False).st_mode, f"{at.path}/{entry.name}")


_SPECIAL = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
