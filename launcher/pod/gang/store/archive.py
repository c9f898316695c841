"""What a finished run left in the output makes way for a new run of the same name.

Only by renames, into `run-<when it began>-<its key>`: nothing is deleted or overwritten. Killed between any two
steps, the next try comes to the same end. One pod does it, before its run's first generation is made.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import count

from launcher import contract
from launcher.pod.gang.store.record import KEY, Record
from launcher.safefs.dirs import Below, Dir, directory_inside, format_of, names, opened
from launcher.safefs.small_file import NO_LINKS, MakeLink

_LAST = 253402300799  # the last second that has a date; a file's time may be anything
OF_A_RUN = (f"{contract.PASS_PREFIX}*", f"{contract.NODE_PREFIX}*", contract.EVENTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """An earlier run of the job: its record, and when it began by the volume's own clock."""

    record: Record
    began_ns: int

    @property
    def name(self) -> str:
        """The directory below the output that its things are moved into."""
        began = datetime.fromtimestamp(min(max(0, self.began_ns // 10**9), _LAST), UTC)
        return f"{contract.RUN_PREFIX}{began:%Y%m%dT%H%M%S}-{self.record.key[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What was moved, by its names there, and the directory that it is in now."""

    to: str
    names: tuple[str, ...]


def make_way(record: Record, output: Below, *, link: MakeLink = os.link) -> Moved | None:
    """Move a finished run's things aside; nothing if the last run did not finish, or this one began already."""
    if record.latest():
        return None
    run = last_run(record)
    verdict = run.record.verdict() if run else None
    if run is None or verdict is None or verdict.code:
        return None
    with output.found() as found:
        if found is None or not (left := _left(found)):
            return None
        with output.at(run.name).opened(make=True) as into, found.naming():
            moved = tuple(new for name in left if (new := _move(found, name, into, link)))
    return Moved(to=f"{output.path}/{run.name}", names=moved) if moved else None


def last_run(record: Record) -> _Run | None:
    """Return the newest earlier run of this job that came as far as a generation."""
    runs = []
    with record.where.found() as where:
        for key in names(where) if where else ():
            if where and KEY.fullmatch(key) and key != record.key and format_of(where, key) == stat.S_IFDIR:
                with directory_inside(where, key) as home:
                    runs.append(_run(home, replace(record, key=key)))
    return max((run for run in runs if run), key=lambda run: (run.began_ns, run.record.key), default=None)


def _run(home: Dir, record: Record) -> _Run | None:
    first = contract.generation_file(1)
    if not record.owns(home, first):
        return None
    with opened(home, first) as fd:
        return _Run(record=record, began_ns=os.fstat(fd).st_mtime_ns)


def _left(output: Dir) -> tuple[str, ...]:
    return tuple(sorted(name for name in names(output) if any(fnmatchcase(name, each) for each in OF_A_RUN)))


def _move(output: Dir, name: str, into: Dir, link: MakeLink) -> str | None:
    """Move one thing under a name that is free there; None if another pod was faster."""
    kind = format_of(output, name)
    for number in count():
        new = f"{name}.{number}" if number else name
        try:
            if kind == stat.S_IFDIR:
                _rename(output, name, into, new)
            else:
                _link_over(output, name, into, new, link)
        except FileExistsError:
            continue
        except FileNotFoundError:
            return None
        return new
    return None


def _rename(output: Dir, name: str, into: Dir, new: str) -> None:
    # A rename replaces what is there, though of directories only an empty one.
    if format_of(into, new):
        raise FileExistsError
    try:
        os.rename(name, new, src_dir_fd=output.fd, dst_dir_fd=into.fd)
    except OSError as error:
        raise (FileExistsError() if error.errno in (errno.ENOTEMPTY, errno.ENOTDIR) else error) from None


def _link_over(output: Dir, name: str, into: Dir, new: str, link: MakeLink) -> None:
    """Move what is no directory by a second name, since a rename would replace a file."""
    try:
        link(name, new, src_dir_fd=output.fd, dst_dir_fd=into.fd, follow_symlinks=False)
    except FileExistsError:
        if not _same(output, name, into, new):  # else it was killed here
            raise
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        return _rename(output, name, into, new)
    os.unlink(name, dir_fd=output.fd)
    return None


def _same(output: Dir, name: str, into: Dir, new: str) -> bool:
    first, second = (os.stat(each, dir_fd=at.fd, follow_symlinks=False) for each, at in ((name, output), (new, into)))
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
