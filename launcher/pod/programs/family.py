"""Looks at a child's whole family in /proc, and makes one that stands still tell where it stands, and end.

A trainer's helper may work while the trainer waits for it, and may have left its session: all of them count.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# With this a Python writes the stacks of all its threads to its standard error when SIGABRT ends it.
ENVIRON = {"PYTHONFAULTHANDLER": "1"}
TICKS = os.sysconf("SC_CLK_TCK")  # in a second
INTERPRETERS = ("python", "pypy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process as the kernel shows it; its ticks of CPU include those of its children that ended."""

    pid: int
    parent: int
    group: int
    session: int
    ticks: int


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds so far of a session's leader, its group, its session, and all below them."""
    return sum(process.ticks for process in _family(pid)) / TICKS


def dump(pid: int) -> bool:
    """End a child by SIGABRT so that its stacks are written, and return whether a Python was there to write them.

    Behind a leader that is no Python (a shell around the program) the nearest Python below it is meant: the leader
    then ends by itself in most cases, but whoever calls this must see to it that all of them do.
    """
    python = _python(pid)
    target = python or pid
    with suppress(OSError, ValueError):
        # Stacks are wanted, not gigabytes of core. The kernel takes 1 as "not even to a pipe", which 0 does not say.
        hard = resource.prlimit(target, resource.RLIMIT_CORE)[1]
        resource.prlimit(target, resource.RLIMIT_CORE, (0 if hard == 0 else 1, hard))
    with suppress(ProcessLookupError, PermissionError):
        os.kill(target, signal.SIGABRT)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGCONT)  # a stopped process would not hear it
    return python is not None


def _python(pid: int) -> int | None:
    """Return the first Python of a family, from the leader down; of several on one level, the eldest."""
    family = _family(pid)
    level: Collection[int] = (pid,)
    while level:
        for each in sorted(level):
            if _is_python(each):
                return each
        level = [process.pid for process in family if process.parent in level]
    return None


def _is_python(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name.startswith(INTERPRETERS)
    except OSError:  # it ended, or is somebody else's
        return False


def _family(pid: int) -> tuple[Process, ...]:
    everyone = tuple(_processes())
    family = {process.pid: process for process in everyone if pid in (process.group, process.session)}
    found = len(family) > 0
    while found:
        more = {each.pid: each for each in everyone if each.parent in family and each.pid not in family}
        family.update(more)
        found = len(more) > 0
    return tuple(family.values())


def _processes() -> Iterator[Process]:
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            with suppress(OSError):  # it ended meanwhile
                yield _parsed(Path(entry.path, "stat").read_bytes())


def _parsed(stat: bytes) -> Process:
    """Read one line of the kernel's; the program's name stands in brackets and may have any characters in it."""
    pid, _, rest = stat.partition(b" ")
    fields = rest.rpartition(b")")[2].split()
    parent, group, session = map(int, fields[1:4])
    return Process(pid=int(pid), parent=parent, group=group, session=session, ticks=sum(map(int, fields[11:15])))
