"""Reads a package of this machine: which of its files go to the pods, and what they hold. Python 3.8."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from launcher.job.package import carried
from launcher.job.package.carried import PackageFile
from launcher.job.package.ignore import IGNORE, NoPattern, Rule, left_out, rules
from launcher.job.problem import JobError
from launcher.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TOLD = 10  # sentences
_REMEDY = f"remove it, or leave it out in {IGNORE}"


@dataclass(frozen=True)
class _Seen:
    path: str
    where: Path
    size: int
    runs: bool


def package_files(top: str) -> tuple[PackageFile, ...]:
    """Return the files that go with a job; a JobError tells what cannot go."""
    try:
        walk = _Walk(_real(Path(top)), rules_of(top))
        found = tuple(walk.below(walk.top, "", (walk.top,)))
        if wrong := [each for each in found if isinstance(each, str)]:
            raise JobError(f"{shown(top)}: {each}" for each in wrong[:_TOLD])
        seen = [each for each in found if isinstance(each, _Seen)]
        if not seen:
            raise JobError([f"{shown(top)} has no file for the pods: expected a directory with the program"])
        _check(top, sum(carried.file_weight(each.path, each.size) for each in seen), len(seen))
        files = tuple(PackageFile(each.path, _content(each.where), runs=each.runs) for each in seen)
    except OSError as error:
        raise JobError([f"{shown(error.filename or top)} cannot be read: {error.strerror}"]) from None
    _check(top, carried.carried_weight(files), len(files))
    return files


def rules_of(top: str) -> tuple[Rule, ...]:
    """Return what the package's own file leaves out."""
    path = Path(top, IGNORE)
    try:
        return rules(path.read_text(encoding="utf-8", errors="surrogateescape"))
    except FileNotFoundError:
        return ()
    except NoPattern as error:
        raise JobError([f"{shown(path)}, {error}"]) from None


def stays_here(top: str) -> Callable[[str, bool], bool]:
    """Return what says of a path below the package, which may be a directory, whether it is left out."""
    found = rules_of(top)
    return lambda path, directory: left_out(found, path, directory=directory)


@dataclass(frozen=True)
class _Walk:
    top: Path
    rules: tuple[Rule, ...]

    def below(self, directory: Path, path: str, above: tuple[Path, ...]) -> Iterator[_Seen | str]:
        """Yield the files of a directory and of those in it, and a sentence for each thing that cannot go."""
        for each in sorted(directory.iterdir()):
            here = f"{path}/{each.name}" if path else each.name
            # Names with a dot in front are passed over by the pods, too, as the shell's `cp -r dir/* .` does.
            hidden = not path and each.name.startswith(".")
            if not hidden and not left_out(self.rules, here, directory=each.is_dir()):
                yield from self._of(each, here, above)

    def _of(self, entry: Path, path: str, above: tuple[Path, ...]) -> Iterator[_Seen | str]:
        where = _real(entry) if entry.is_symlink() else entry
        if why := _wrong_name(path) or self._wrong_link(where, above):
            yield f"{shown(path)} {why}"
            return
        if not where.exists():
            yield f"{shown(path)} is a link to nothing: {_REMEDY}"
            return
        found = where.stat()
        if stat.S_ISDIR(found.st_mode):
            yield from self.below(where, path, (*above, where))
        elif stat.S_ISREG(found.st_mode):
            yield _Seen(path, where, found.st_size, runs=bool(found.st_mode & stat.S_IXUSR))
        else:
            yield f"{shown(path)} is neither a file nor a directory: {_REMEDY}"

    def _wrong_link(self, where: Path, above: tuple[Path, ...]) -> str:
        """Return why what a link leads to, or what is no link, cannot go."""
        if self.top not in (where, *where.parents):
            return f"is a link out of the package, to {shown(where)}: copy what it leads to, or {_REMEDY}"
        return f"is a link to a directory that it is in: {_REMEDY}" if where in above else ""


def _wrong_name(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError:
        return f"has a name that is not UTF-8: rename it, or leave it out in {IGNORE}"
    return ""


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # Path.resolve raises where links go in circles


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(carried.MOST_CARRIED + 1)  # it may have grown


def _check(top: str, taken: int, count: int) -> None:
    if taken > carried.MOST_CARRIED:
        raise JobError([carried.too_large(shown(top), taken, count)])
