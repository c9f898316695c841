"""How a tree is copied: surveyed first, then file by file, or several at a time where each waits for a network.

No link is followed, no device opened; what an interrupted copy left is kept where it is whole.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from launcher.contract import MANIFEST
from launcher.dataset.manifest import Entry
from launcher.pod.data.earlier import Copied, Earlier, as_copied
from launcher.pod.data.file import FileCopier, Read
from launcher.pod.data.links import Link
from launcher.pod.data.survey import Census, Looking, read_link, refuse_leaving, survey
from launcher.pod.log import Tell
from launcher.pod.outcome import ShardError
from launcher.safefs.dirs import Dir, directory, directory_inside
from launcher.safefs.overlay import Found, Kind, all_inside, laid_over
from launcher.safefs.parallel import Workers, threads_for
from launcher.safefs.refusals import Refusal, naming
from launcher.text import shown

Works = Generator[Callable[[], None] | ExitStack]

_FLYING = 512  # files that are begun: the others go on while one of them is large
_STAYS = "expected it to stay while it is copied: run the job again when no program changes it"
REFUSAL = Refusal(
    error=ShardError,
    advice={
        errno.ENOENT: _STAYS,
        errno.ESTALE: _STAYS,
        errno.EROFS: "expected a place that this pod may write to: mount a volume there, or set LAUNCHER_WORKDIR",
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copier:
    """How trees are copied here: who is told, how often, and by which means."""

    tell: Tell
    every: float = 5.0
    clock: Callable[[], float] = time.monotonic
    read: Read = os.readv
    threads: int = 0  # 0: as the kind of the file system says

    def assemble(
        self,
        dirs: Sequence[Dir],
        into: Path,
        listed: Mapping[str, Entry] | None = None,
        earlier: Earlier | None = None,
    ) -> Census:
        """Make `into` what the directories laid over each other are, keeping what of it is there already.

        What a manifest lists is held against it. With an earlier tree what is unchanged there is taken over from it,
        and it is noted which copy is of which file.
        """
        threads = self.threads or max(threads_for(each.fd) for each in dirs)
        with Workers(threads, flying=_FLYING, borrowing=True) as workers:
            return self._assemble(dirs, into, listed or {}, earlier, workers)

    def looking(self) -> Looking:
        """Return what counts the files that are looked at."""
        return Looking(tell=self.tell, every=self.every, clock=self.clock)

    def _assemble(
        self,
        dirs: Sequence[Dir],
        into: Path,
        listed: Mapping[str, Entry],
        earlier: Earlier | None,
        workers: Workers,
    ) -> Census:
        looking = self.looking()
        census = survey(dirs, listed, workers, looking)
        refuse_leaving(census.links)
        with naming(str(into), REFUSAL):
            into.mkdir(mode=0o700, exist_ok=True)
        with directory(into, REFUSAL, trusted=True, ours=True) as target:
            there = survey((target,), {}, Workers(1), looking).bytes
            there += earlier.bytes_of(each.path for each in dirs) if earlier else 0
            _check_room(census.bytes - there, dirs, target)
            with ThreadPoolExecutor(1) as beside:
                hasher = None if workers.side_by_side else beside
                copy = _Copy(
                    whole=census, copier=self, listed=listed, earlier=earlier, workers=workers, beside=hasher
                )
                with closing(copy.tree(dirs, target)) as works:
                    for _ in workers.each(works):
                        pass
        # Once more, for what was really copied: the source may have changed since the survey.
        refuse_leaving(copy.links)
        if missing := sorted(listed.keys() - copy.verified):
            raise ShardError(
                f"{shown(missing[0])} is not there, but {MANIFEST} lists it: expected all files of the split, "
                f"{len(missing)} are missing; split the data again, or copy it to the volume again"
            )
        return copy.done


@dataclass(slots=True, kw_only=True)
class _Copy:
    """One tree on its way, and how far it is, told every few seconds."""

    whole: Census
    copier: Copier
    listed: Mapping[str, Entry]
    earlier: Earlier | None
    workers: Workers
    beside: ThreadPoolExecutor | None
    files: int = 0
    bytes: int = 0
    kept: int = 0
    kept_bytes: int = 0
    copies: dict[str, Copied] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    verified: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    due: float = field(init=False)
    file: FileCopier = field(init=False)

    def __post_init__(self) -> None:
        self.due = self.copier.clock() + self.copier.every
        self.file = FileCopier(count=self._count, kept=self._keep, read=self.copier.read, beside=self.beside)

    def tree(self, dirs: Sequence[Dir], into: Dir, above: str = "") -> Works:
        """Yield what is to be done for each file, and each directory that is left, to be closed after its files."""
        found, present = laid_over(dirs), laid_over((into,))
        for old in present.values():
            # A link is quickly made anew, which tells that it is right.
            if old.kind is Kind.LINK or old.name not in found or old.kind is not found[old.name].kind:
                _remove(old)
        for each in found.values():
            again = each.name in present and each.kind is present[each.name].kind
            if each.kind is Kind.DIRECTORY:
                yield from self._directory(each, into, above, again)
            elif each.kind is Kind.LINK:
                self._link(each, into, above)
            else:
                yield partial(self._file, each, into, above, again)
        with into.naming():
            # The owner's rights stay, or the tree could not be removed again.
            os.fchmod(into.fd, os.fstat(dirs[-1].fd).st_mode & 0o777 | 0o700)

    def _file(self, found: Found, into: Dir, above: str, again: bool) -> None:
        entry, path = self.listed.get(found.path), above + found.name
        again = again or (self.earlier is not None and self.earlier.link(found, path, into))
        self.file.copy(found, into, present=again, entry=entry)
        copied = as_copied(found, path, into) if self.earlier else None
        with self.lock:
            self.files += 1
            if entry:
                self.verified.add(found.path)
            if copied:
                self.copies[path] = copied

    def _directory(self, found: Found, into: Dir, above: str, again: bool) -> Works:
        with into.naming(found.name):
            if not again:
                os.mkdir(found.name, 0o700, dir_fd=into.fd)
        with ExitStack() as stack:
            target = stack.enter_context(directory_inside(into, found.name))
            dirs = stack.enter_context(all_inside(found))
            try:
                yield from self.tree(dirs, target, f"{above}{found.name}/")
            except BaseException:
                self.workers.halt()  # they use the directories that are closed now
                raise
            yield stack.pop_all()

    def _link(self, found: Found, into: Dir, above: str) -> None:
        link = self.links[above + found.name] = read_link(found)
        with into.naming(found.name):
            os.symlink(link.target, found.name, dir_fd=into.fd)

    @property
    def done(self) -> Census:
        """What is copied."""
        return Census(
            files=self.files,
            bytes=self.bytes,
            links=self.links,
            verified=len(self.verified),
            kept=self.kept,
            kept_bytes=self.kept_bytes,
            copies=self.copies,
        )

    def _keep(self, size: int) -> None:
        with self.lock:
            self.kept, self.kept_bytes = self.kept + 1, self.kept_bytes + size
        self._count(size)

    def _count(self, size: int) -> None:
        with self.lock:
            self.bytes += size
            now = self.copier.clock()
            if now < self.due:
                return
            self.due = now + self.copier.every
            of_files, of_bytes = self.whole.files, self.whole.bytes
            percent = min(100, self.bytes * 100 // of_bytes) if of_bytes else 100
            told = {"files": self.files, "bytes": self.bytes, "of_files": of_files, "of_bytes": of_bytes}
            self.copier.tell("staging", **told, percent=percent)


def remove_tree(path: str | Path, at: int | None = None) -> None:
    """Remove a directory; to import what can takes 4 ms of a start, and most starts remove none."""
    import shutil

    shutil.rmtree(path, dir_fd=at)


def _remove(found: Found) -> None:
    with found.at.naming(found.name):
        if found.kind is Kind.DIRECTORY:
            remove_tree(found.name, at=found.at.fd)
        else:
            os.unlink(found.name, dir_fd=found.at.fd)


def _check_room(needed: int, dirs: Sequence[Dir], target: Dir) -> None:
    with target.naming():
        disk = os.fstatvfs(target.fd)
    free = disk.f_bavail * disk.f_frsize
    if needed > free:
        raise ShardError(
            f"{shown(dirs[-1].path)} needs {needed} bytes more in {Path(target.path).parent}, {free} are free: "
            "expected room for all of it; free some room there, or raise its size or the ephemeral-storage limit"
        )
