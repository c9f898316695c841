"""How a tree is copied: surveyed first, then file by file with its size checked, on one thread.

No link is followed, no device opened; what an interrupted copy left is kept where it is whole.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from launcher.pod.events import Tell
from launcher.pod.links import Link, leaving
from launcher.pod.outcome import ShardError
from launcher.pod.tree import FILE, Dir, Found, Kind, all_inside, directory, inside, kind_of, laid_over, naming
from launcher.pod.tree import opened, shown, walk

BLOCK = 1 << 20
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW

Read = Callable[[int, Sequence[bytearray]], int]


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
        _refuse_leaving(census.links, dirs)
        with naming(str(into)):
            into.mkdir(mode=0o700, exist_ok=True)
        with directory(into, trusted=True) as target:
            _check_room(census.bytes - survey((target,)).bytes, dirs, target)
            copy = _Copy(progress=_Progress(census, self), read=self.read)
            copy.tree(dirs, target)
        # Once more, for what was really copied: the source may have changed under the survey.
        _refuse_leaving(copy.links, dirs)
        return Census(files=copy.progress.files, bytes=copy.progress.bytes, links=copy.links)


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


class _Progress:
    """How far a copy is, told every few seconds."""

    def __init__(self, whole: Census, copier: Copier) -> None:
        self.whole, self.copier = whole, copier
        self.files = self.bytes = 0
        self.due = copier.clock() + copier.every

    def add(self, *, files: int = 0, size: int = 0) -> None:
        self.files += files
        self.bytes += size
        now = self.copier.clock()
        if now >= self.due:
            self.due = now + self.copier.every
            of_files, of_bytes = self.whole.files, self.whole.bytes
            percent = min(100, self.bytes * 100 // of_bytes) if of_bytes else 100
            told = {"files": self.files, "bytes": self.bytes, "of_files": of_files, "of_bytes": of_bytes}
            self.copier.tell("staging", **told, percent=percent)


@dataclass(slots=True, kw_only=True)
class _Copy:
    """One tree on its way."""

    progress: _Progress
    read: Read
    links: dict[str, Link] = field(default_factory=dict)
    block: bytearray = field(default_factory=lambda: bytearray(BLOCK))

    def tree(self, dirs: Sequence[Dir], into: Dir, above: str = "") -> None:
        found, present = laid_over(dirs), laid_over((into,))
        for old in present.values():
            if old.name not in found or old.kind is not found[old.name].kind:
                _remove(old)
        for each in found.values():
            kept = present.get(each.name)
            again = kept is not None and kept.kind is each.kind
            if each.kind is Kind.DIRECTORY:
                self._directory(each, into, above, again)
            elif each.kind is Kind.LINK:
                self._link(each, into, above, again)
            else:
                self._file(each, into, again)
        with naming(into.path):
            os.fchmod(into.fd, stat.S_IMODE(os.fstat(dirs[-1].fd).st_mode) & 0o777 | 0o700)

    def _directory(self, found: Found, into: Dir, above: str, again: bool) -> None:
        with naming(f"{into.path}/{found.name}"):
            if not again:
                os.mkdir(found.name, 0o700, dir_fd=into.fd)
        with inside(into, found.name) as target, all_inside(found) as dirs:
            self.tree(dirs, target, f"{above}{found.name}/")

    def _link(self, found: Found, into: Dir, above: str, again: bool) -> None:
        link = self.links[above + found.name] = _read_link(found)
        with naming(f"{into.path}/{found.name}"):
            if again:
                os.unlink(found.name, dir_fd=into.fd)
            os.symlink(link.target, found.name, dir_fd=into.fd)

    def _file(self, found: Found, into: Dir, again: bool) -> None:
        for _ in range(2):
            with opened(found.path, FILE, name=found.name, at=found.at.fd) as source, naming(found.path):
                before = os.fstat(source)
                if kind_of(before.st_mode, found.path) is not Kind.FILE:
                    break
                if again and _same(before, _target_stat(found.name, into)):
                    self.progress.add(files=1, size=before.st_size)
                    return
                copied = self._content(source, before, found.name, into, again)
                if copied == before.st_size and _same(before, os.fstat(source)):
                    _seal(found.name, into, before)
                    self.progress.add(files=1)
                    return
            again = True
            self.progress.add(size=-copied)
        raise ShardError(
            f"{shown(found.path)} changes while it is copied: "
            "expected shards that nobody writes to; start the job again when they are complete"
        )

    def _content(self, source: int, before: os.stat_result, name: str, into: Dir, again: bool) -> int:
        path = f"{into.path}/{name}"
        if again:
            with naming(path):
                os.unlink(name, dir_fd=into.fd)
        copied = 0
        with opened(path, NEW, name=name, at=into.fd) as target:
            while copied < before.st_size and (count := self.read(source, [self.block])):
                with naming(path):
                    _write(target, memoryview(self.block)[:count])
                copied += count
                self.progress.add(size=count)
            with naming(path):
                os.fchmod(target, _mode(before))
        return copied


def _write(target: int, data: memoryview) -> None:
    while data:
        data = data[os.write(target, data) :]


def _mode(source: os.stat_result) -> int:
    # No setuid, setgid or sticky bit comes from a volume; and who copied a file must be able to read it.
    return source.st_mode & 0o777 | stat.S_IRUSR


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_size, one.st_mtime_ns, _mode(one)) == (other.st_size, other.st_mtime_ns, _mode(other))


def _seal(name: str, into: Dir, source: os.stat_result) -> None:
    """Mark a file as whole, once it is: a later start keeps files with their source's size, time and mode."""
    with naming(f"{into.path}/{name}"):
        os.utime(name, ns=(source.st_atime_ns, source.st_mtime_ns), dir_fd=into.fd, follow_symlinks=False)


def _target_stat(name: str, into: Dir) -> os.stat_result:
    with naming(f"{into.path}/{name}"):
        return os.stat(name, dir_fd=into.fd, follow_symlinks=False)


def _read_link(found: Found) -> Link:
    with naming(found.path):
        return Link(target=os.readlink(found.name, dir_fd=found.at.fd), trusted=found.at.trusted)


def _remove(found: Found) -> None:
    with naming(found.path):
        if found.kind is Kind.DIRECTORY:
            shutil.rmtree(found.name, dir_fd=found.at.fd)
        else:
            os.unlink(found.name, dir_fd=found.at.fd)


def _refuse_leaving(links: Mapping[str, Link], dirs: Sequence[Dir]) -> None:
    for path in leaving(links):
        raise ShardError(
            f"{shown(dirs[-1].path + '/' + path)} is a link to {links[path].target!r}, which leads out of the tree: "
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
