"""The job's files are put over those of the working directory; a file that is not a launcher's is kept beside.

What was staged is known by its content: a file that a user or a program has changed since is theirs.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from launcher.pod.data.copy import REFUSAL
from launcher.pod.data.place import free
from launcher.pod.log import Tell
from launcher.pod.outcome import ShardError
from launcher.safefs.refusals import naming
from launcher.text import shown

_TOLD = 10  # names in one event


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFiles:
    """Puts files into a working directory; killed between any two steps, the next start comes to the same end."""

    workdir: Path
    tell: Tell
    rename: Callable[[Path, Path], None] = os.rename
    kept: list[str] = field(default_factory=list)

    def put(self, staged: Path) -> None:
        """Move everything below a directory to its place in the working directory, over what is there."""
        contents = {path.relative_to(staged): _digest(path) for path in _files(staged)}
        known = self._known()
        # Before the renames: after a kill between them, both contents are known as staged.
        self._remember({*known, *contents.values()})
        self._merge(staged, Path(), contents, known)
        self._remember(contents.values())
        if self.kept:
            self.tell("files_set_aside", names=self.kept[:_TOLD], files=len(self.kept))

    def _merge(self, staged: Path, where: Path, contents: Mapping[Path, str], known: Collection[str]) -> None:
        for entry in _entries(staged):
            path = where / entry.name
            target = self.workdir / path
            mode = _mode(target)
            if stat.S_ISDIR(_mode(entry)) and mode:
                if not stat.S_ISDIR(mode):
                    raise ShardError(
                        f"{shown(str(target))} is not a directory, but in the job's files it is one: rename one"
                    )
                self._merge(entry, path, contents, known)
            else:
                if mode and not stat.S_ISDIR(mode) and _digest(target) not in {*known, contents[path]}:
                    self._keep(target)
                self._move(entry, target)
        with naming(str(staged), REFUSAL):
            staged.rmdir()

    def _keep(self, target: Path) -> None:
        before = free(target.with_name(f"{target.name}.before"))
        self._move(target, before)
        self.kept.append(str(before.relative_to(self.workdir)))

    def _move(self, source: Path, target: Path) -> None:
        with naming(str(target), REFUSAL):
            self.rename(source, target)

    @property
    def _file(self) -> Path:
        return self.workdir / ".files.staged"

    def _known(self) -> frozenset[str]:
        """Return the digests of what was staged here; a file that cannot be read knows none, so that all is kept."""
        with naming(str(self._file), REFUSAL):
            text = self._file.read_text(errors="replace") if self._file.exists() else "{}"
        try:
            found = json.loads(text)["staged"]
            return frozenset(each for each in found if each and isinstance(each, str))
        except (ValueError, KeyError, TypeError):
            return frozenset()

    def _remember(self, digests: Collection[str]) -> None:
        with naming(str(self._file), REFUSAL):
            new = self._file.with_suffix(".new")
            new.write_text(json.dumps({"staged": sorted(set(digests))}) + "\n")
        self._move(new, self._file)


def _files(top: Path) -> Iterator[Path]:
    for entry in _entries(top):
        if stat.S_ISDIR(_mode(entry)):
            yield from _files(entry)
        else:
            yield entry


def _entries(top: Path) -> list[Path]:
    with naming(str(top), REFUSAL):
        return sorted(top.iterdir())


def _mode(path: Path) -> int:
    """Return what is at a path, a link itself; 0 where nothing is."""
    with naming(str(path), REFUSAL):
        return path.lstat().st_mode if os.path.lexists(path) else 0


def _digest(path: Path) -> str:
    """Return a file's content, or a link's target, as a digest; nothing of what may not be read: it is not ours."""
    mode = _mode(path)
    try:
        with naming(str(path), REFUSAL):
            if stat.S_ISLNK(mode):
                return f"-> {path.readlink()}"
            if stat.S_ISREG(mode):
                with path.open("rb") as file:
                    return hashlib.file_digest(file, "sha256").hexdigest()
    except ShardError as error:
        if not isinstance(error.__cause__, PermissionError):
            raise
    return ""
