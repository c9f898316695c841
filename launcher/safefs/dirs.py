"""Directories held by their descriptors: opened without following a link, each below the one before it.

Nothing is changed here, but that a directory is made where one is asked for. What the system refuses becomes the
error of the room that opened the topmost directory, with a sentence that names the path.

No library opens below a directory's descriptor without following a link; it costs 4.0 us a file.
"""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from launcher.safefs.refusals import PLAIN, Refusal, is_absent, naming
from launcher.text import shown

DEPTH = 100  # each level holds descriptors open, and a process may have few of them
KEPT = 64  # directories that a tree holds open
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Without O_NONBLOCK, opening what has become a FIFO since it was listed would wait for ever.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


@dataclass(frozen=True, slots=True, kw_only=True)
class Dir:
    """An open directory, the path that messages have for it, how they are said, and the names that are passed over.

    `ours` is one that is copied to: what it holds may be of any kind.
    """

    fd: int
    path: str
    refusal: Refusal = PLAIN
    trusted: bool = False
    ours: bool = False
    depth: int = 0
    without: frozenset[str] = frozenset()

    def path_of(self, name: str) -> str:
        """Return the path that messages have for a name in it."""
        return f"{self.path}/{name}" if self.path else name

    def naming(self, name: str = "", where_absent: str = "") -> naming:
        """Name what the system refuses: the directory, or a name in it."""
        return naming(self.path, self.refusal, where_absent, name)

    def refused(self, name: str, why: str) -> Exception:
        """Return the room's error for a name in it that is not as it should be."""
        return self.refusal.error(f"{shown(self.path_of(name))} {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    """A directory below a trusted one that must exist; the parts between them may be anything.

    Every one of them is opened anew each time: that is when the client of a network volume asks for what is new.
    """

    root: PurePosixPath
    parts: tuple[str, ...] = ()
    refusal: Refusal = PLAIN

    @property
    def path(self) -> str:
        """The path for messages."""
        return shown(str(self.root.joinpath(*self.parts)))

    def at(self, *parts: str) -> Below:
        """Return a directory below this one."""
        return replace(self, parts=(*self.parts, *parts))

    @contextmanager
    def opened(self, *, make: bool = False) -> Iterator[Dir]:
        """Open it, and make what is missing of it if asked to; the body's own refusals are named by it."""
        with ExitStack() as stack:
            here = stack.enter_context(directory(Path(self.root), self.refusal))
            for part in self.parts:
                here = stack.enter_context(directory_inside(here, part, make=make))
            yield here

    @contextmanager
    def found(self) -> Iterator[Dir | None]:
        """Open it, or yield None where it cannot be found."""
        with ExitStack() as stack:
            try:
                here = stack.enter_context(self.opened())
            except self.refusal.error as error:
                if not is_absent(error):
                    raise
                # The volume itself must be there: one that is not mounted must not look like an empty one.
                stack.enter_context(directory(Path(self.root), self.refusal))
                here = None
            yield here


class Tree:
    """A directory and what is below it, by paths; the directories that were used last stay open."""

    def __init__(self, top: str, error: type[Exception]) -> None:
        refusal = Refusal(error=error)
        with naming(top, refusal):
            self._top = Dir(fd=os.open(top, os.O_RDONLY | os.O_DIRECTORY), path="", refusal=refusal)
        self._open: OrderedDict[str, Dir] = OrderedDict()  # the one that was used last is last

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()
        os.close(self._top.fd)

    def forget(self) -> None:
        """Close all but the top: directories were removed."""
        while self._open:
            os.close(self._open.popitem()[1].fd)

    def directory(self, path: str, *, make: bool = False) -> Dir:
        """Return the open directory of a path, good until the next one is asked for."""
        at = path
        while at and at not in self._open:
            at = at.rpartition("/")[0]
        found = self._open[at] if at else self._top
        if at:
            self._open.move_to_end(at)
        for part in filter(None, path[len(at) :].split("/")):
            found = self._enter(found, part, make=make)
        return found

    def lent(self, path: str, *, make: bool = False) -> Dir:
        """Return the open directory of a file, which its user closes."""
        found = self.directory(path.rpartition("/")[0], make=make)
        return replace(found, fd=os.dup(found.fd))

    def status(self, path: str) -> os.stat_result | None:
        """Return the facts of a path, of a link its own; None where there is none."""
        if not path:
            return os.fstat(self._top.fd)
        above, _, name = path.rpartition("/")
        try:
            at = self.directory(above)
            with at.naming(name):
                return os.stat(name, dir_fd=at.fd, follow_symlinks=False)
        except self._top.refusal.error as error:
            if is_absent(error):
                return None
            raise

    def is_directory(self, path: str) -> bool:
        """Return whether a directory is there."""
        found = self.status(path)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def opened(self, path: str) -> _Held:
        """Open a regular file to be read, for the body."""
        above, _, name = path.rpartition("/")
        return opened(self.directory(above), name)

    def names(self, path: str) -> list[str]:
        """Return the names in a directory, in order."""
        return sorted(names(self.directory(path)))

    def _enter(self, at: Dir, part: str, *, make: bool) -> Dir:
        path = at.path_of(part)
        found = self._open[path] = replace(at, fd=_entered(at, part, make=make), path=path)
        if len(self._open) > KEPT:
            os.close(self._open.popitem(last=False)[1].fd)
        return found


class _Held:
    """An open descriptor; a failing close counts, since network file systems report lost writes there.

    What the system refuses in the body is named by it too, unless it was named there.
    """

    __slots__ = ("_fd", "_naming")

    def __init__(self, fd: int, naming: naming) -> None:
        self._fd, self._naming = fd, naming

    def __enter__(self) -> int:
        return self._fd

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            with self._naming:
                os.close(self._fd)
        else:  # which comes first
            with suppress(OSError):
                os.close(self._fd)
            self._naming.__exit__(kind, error, trace)


def opened(at: Dir, name: str, flags: int = FILE, *, mode: int = 0o600) -> _Held:
    """Open a regular file for the body; anything else of this name is refused."""
    named = at.naming(name)
    return _Held(_open_regular(at, name, flags, mode, named), named)


def open_regular(at: Dir, name: str, flags: int = FILE, *, mode: int = 0o600) -> int:
    """Return the descriptor of a regular file; anything else of this name is refused."""
    return _open_regular(at, name, flags, mode, at.naming(name))


def _open_regular(at: Dir, name: str, flags: int, mode: int, named: naming) -> int:
    with named:
        fd = os.open(name, flags, mode, dir_fd=at.fd)
        found = os.fstat(fd).st_mode
    if not stat.S_ISREG(found):
        os.close(fd)
        raise at.refused(name, f"is {what(found)}: expected a regular file; move it away")
    return fd


@contextmanager
def directory(
    path: Path, refusal: Refusal = PLAIN, *, trusted: bool = False, ours: bool = False, where_absent: str = ""
) -> Iterator[Dir]:
    """Open a directory by a path that is trusted, links in it followed."""
    with naming(str(path), refusal, where_absent):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    with _Held(fd, naming(str(path), refusal)):
        yield Dir(fd=fd, path=str(path), refusal=refusal, trusted=trusted, ours=ours)


@contextmanager
def directory_inside(parent: Dir, name: str, where_absent: str = "", *, make: bool = False) -> Iterator[Dir]:
    """Open a directory in a directory; make it where it is missing, if asked to."""
    if parent.depth == DEPTH:
        raise parent.refused(name, f"is too deep: expected at most {DEPTH} nested directories; pack the deepest")
    with _Held(_entered(parent, name, where_absent, make=make), parent.naming(name)) as fd:
        yield replace(parent, fd=fd, path=parent.path_of(name), depth=parent.depth + 1, without=frozenset())


def format_of(parent: Dir, name: str) -> int:
    """Return what kind of thing a name in a directory is, as stat has it; 0 if there is none."""
    with parent.naming(name):
        try:
            return stat.S_IFMT(os.stat(name, dir_fd=parent.fd, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return 0


def names(parent: Dir) -> tuple[str, ...]:
    """Return the names in a directory."""
    with parent.naming():
        return tuple(os.listdir(parent.fd))  # noqa: PTH208  # by descriptor, which no Path has


def what(mode: int) -> str:
    """Return the word for a kind of file, such as a message has it."""
    return _WORDS.get(stat.S_IFMT(mode), "of an unknown kind")


def _entered(at: Dir, name: str, where_absent: str = "", *, make: bool) -> int:
    with at.naming(name, where_absent):
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=at.fd)
        return os.open(name, _DIRECTORY, dir_fd=at.fd)


_WORDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a link",
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
