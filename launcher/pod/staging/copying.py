"""How a tree is copied: surveyed first, then file by file, on one thread.

No link is followed, no device opened; what an interrupted copy left is kept where it is whole.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from launcher.pod.events import Tell
from launcher.pod.outcome import ShardError
from launcher.pod.staging.filecopy import FileCopier, Read
from launcher.pod.staging.links import Link, leaving
from launcher.pod.staging.refusal import naming, shown
from launcher.pod.staging.tree import Dir, Found, Kind, all_inside, directory, inside, laid_over, walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """What a tree holds."""

    files: int
    bytes: int
    links: Mapping[str, Link]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copier:
    """How trees are copied here: who is told, how often, and by which means."""

    tell: Tell
    every: float = 5.0
    clock: Callable[[], float] = time.monotonic
    read: Read = os.readv

    def assemble(self, dirs: Sequence[Dir], into: Path) -> Census:
        """Make `into` what the directories laid over each other are, keeping what of it is there already."""
        census = survey(dirs)
        _refuse_leaving(census.links)
        with naming(str(into)):
            into.mkdir(mode=0o700, exist_ok=True)
        with directory(into, trusted=True) as target:
            _check_room(census.bytes - survey((target,)).bytes, dirs, target)
            copy = _Copy(whole=census, copier=self)
            copy.tree(dirs, target)
        # Once more, for what was really copied: the source may have changed since the survey.
        _refuse_leaving(copy.links)
        return Census(files=copy.files, bytes=copy.bytes, links=copy.links)


def survey(dirs: Sequence[Dir]) -> Census:
    """Return what the directories laid over each other hold."""
    files = size = 0
    links = {}
    for path, found in walk(dirs):
        if found.kind is Kind.FILE:
            with naming(found.path):
                size += os.stat(found.name, dir_fd=found.at.fd, follow_symlinks=False).st_size
            files += 1
        elif found.kind is Kind.LINK:
            links[path] = _read_link(found)
    return Census(files=files, bytes=size, links=links)


@dataclass(slots=True, kw_only=True)
class _Copy:
    """One tree on its way, and how far it is, told every few seconds."""

    whole: Census
    copier: Copier
    files: int = 0
    bytes: int = 0
    links: dict[str, Link] = field(default_factory=dict)
    due: float = field(init=False)
    file: FileCopier = field(init=False)

    def __post_init__(self) -> None:
        self.due = self.copier.clock() + self.copier.every
        self.file = FileCopier(count=self._count, read=self.copier.read)

    def tree(self, dirs: Sequence[Dir], into: Dir, above: str = "") -> None:
        found, present = laid_over(dirs), laid_over((into,))
        for old in present.values():
            # A link is quickly made anew, which tells that it is right.
            if old.kind is Kind.LINK or old.name not in found or old.kind is not found[old.name].kind:
                _remove(old)
        for each in found.values():
            again = each.name in present and each.kind is present[each.name].kind
            if each.kind is Kind.DIRECTORY:
                self._directory(each, into, above, again)
            elif each.kind is Kind.LINK:
                self._link(each, into, above)
            else:
                self.file.copy(each, into, present=again)
                self.files += 1
        with naming(into.path):
            # The owner's rights stay, or the tree could not be removed again.
            os.fchmod(into.fd, os.fstat(dirs[-1].fd).st_mode & 0o777 | 0o700)

    def _directory(self, found: Found, into: Dir, above: str, again: bool) -> None:
        with naming(f"{into.path}/{found.name}"):
            if not again:
                os.mkdir(found.name, 0o700, dir_fd=into.fd)
        with inside(into, found.name) as target, all_inside(found) as dirs:
            self.tree(dirs, target, f"{above}{found.name}/")

    def _link(self, found: Found, into: Dir, above: str) -> None:
        link = self.links[above + found.name] = _read_link(found)
        with naming(f"{into.path}/{found.name}"):
            os.symlink(link.target, found.name, dir_fd=into.fd)

    def _count(self, size: int) -> None:
        self.bytes += size
        now = self.copier.clock()
        if now >= self.due:
            self.due = now + self.copier.every
            of_files, of_bytes = self.whole.files, self.whole.bytes
            percent = min(100, self.bytes * 100 // of_bytes) if of_bytes else 100
            told = {"files": self.files, "bytes": self.bytes, "of_files": of_files, "of_bytes": of_bytes}
            self.copier.tell("staging", **told, percent=percent)


def _read_link(found: Found) -> Link:
    with naming(found.path):
        target = os.readlink(found.name, dir_fd=found.at.fd)
    return Link(target=target, where=found.path, trusted=found.at.trusted)


def _remove(found: Found) -> None:
    with naming(found.path):
        if found.kind is Kind.DIRECTORY:
            shutil.rmtree(found.name, dir_fd=found.at.fd)
        else:
            os.unlink(found.name, dir_fd=found.at.fd)


def _refuse_leaving(links: Mapping[str, Link]) -> None:
    if refused := leaving(links):
        link = links[refused[0]]
        raise ShardError(
            f"{shown(link.where)} is a link to {link.target!r}, which leads out of the tree: "
            "expected only links that stay in it; put the file itself there"
        )


def _check_room(needed: int, dirs: Sequence[Dir], target: Dir) -> None:
    with naming(target.path):
        disk = os.fstatvfs(target.fd)
    free = disk.f_bavail * disk.f_frsize
    if needed > free:
        raise ShardError(
            f"{shown(dirs[-1].path)} needs {needed} bytes more in {Path(target.path).parent}, {free} are free: "
            "expected room for all of it; free some, or raise the size or the ephemeral-storage limit"
        )
