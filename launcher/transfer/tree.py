"""Files below a directory, by paths in which no link is followed: each part is opened below the one before it."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections import OrderedDict
from collections.abc import Iterator

from launcher.text import shown
from launcher.transfer.names import divided, joined
from launcher.transfer.problem import Trouble

ENTER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe of that name would wait for a writer for ever.
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
KEPT = 64  # open directories
LINKS = "links are not followed"


class Tree:
    """A directory, and what is below it."""

    def __init__(self, top: str) -> None:
        self._top = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._open: OrderedDict[str, int] = OrderedDict()  # the one that was used last is last

    def __enter__(self) -> Tree:
        """Be it for a while."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close what is open."""
        self.forget()
        os.close(self._top)

    def forget(self) -> None:
        """Close all but the top: somebody has removed directories."""
        while self._open:
            os.close(self._open.popitem()[1])

    def directory(self, path: str, *, make: bool = False) -> int:
        """Return the open directory of a path, good until the next one is asked for; files come by the directory."""
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        at = path
        while at and at not in self._open:
            at = divided(at)[0]
        found = self._open[at] if at else self._top
        if at:
            self._open.move_to_end(at)
        for part in filter(None, path[len(at) :].split("/")):
            at = joined(at, part)
            found = self._open[at] = _inner(found, part, at, make=make)
            if len(self._open) > KEPT:
                os.close(self._open.popitem(last=False)[1])
        return found

    def lent(self, path: str, *, make: bool = False) -> int:
        """Return the open directory of a file, which whoever has it closes."""
        return os.dup(self.directory(divided(path)[0], make=make))

    def status(self, path: str) -> os.stat_result | None:
        """Return what is there, links as links; None where nothing is."""
        if not path:
            return os.fstat(self._top)
        directory, name = divided(path)
        try:
            return os.stat(name, dir_fd=self.directory(directory), follow_symlinks=False)
        except FileNotFoundError:
            return None
        except NotThere:
            return None

    def is_directory(self, path: str) -> bool:
        """Return whether a directory is there."""
        found = self.status(path)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def opened(self, path: str) -> int:
        """Open a plain file to be read."""
        return opened(self.directory(divided(path)[0]), path)

    def names(self, path: str) -> list[str]:
        """Return the names in a directory, in order."""
        with told(path, "read"):
            return sorted(os.listdir(self.directory(path)))  # noqa: PTH208  # by a descriptor


class NotThere(Trouble):
    """A directory that is not there."""


def opened(within: int, path: str) -> int:
    """Open a plain file to be read, by its open directory."""
    with told(path, "read"):
        file = os.open(divided(path)[1], READ, dir_fd=within)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise Trouble(f"{shown(path)} is no plain file")
    return file


def forgotten(tree: Tree, path: str) -> None:
    """Remove a file that may be gone already."""
    directory, name = divided(path)
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=tree.directory(directory))


@contextlib.contextmanager
def told(path: str, what: str) -> Iterator[None]:
    """Turn the operating system's words into a sentence that names the file."""
    try:
        yield
    except OSError as error:
        raise Trouble(f"{shown(path) or 'the top'} cannot be {what}: {why(error)}") from None


def why(error: OSError) -> str:
    """Return what the operating system says, in a few words."""
    if error.errno == errno.ELOOP:
        return LINKS
    if error.errno == errno.ENOSPC:
        return "no space is left there"
    return (error.strerror or type(error).__name__).lower()


def _inner(directory: int, part: str, path: str, *, make: bool) -> int:
    try:
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=directory)
        return os.open(part, ENTER, dir_fd=directory)
    except FileNotFoundError:
        raise NotThere(f"{shown(path)} is not there") from None
    except NotADirectoryError:
        raise Trouble(f"{shown(path)} is no directory ({LINKS})") from None
    except OSError as error:
        raise Trouble(f"{shown(path)} cannot be {'made' if make else 'entered'}: {why(error)}") from None
