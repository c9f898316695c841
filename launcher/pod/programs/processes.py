"""The processes of this machine as /proc shows them: who is below whom, and how they are called.

Read by hand: psutil knows no session and no process group; one look at 141 processes takes 1.7 ms here, psutil 4.6 ms
for less, and 15 ms to import.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from launcher.pod.settings.masking import masked

# Where memory is short, or a volume hangs, the kernel may keep a command line back for as long as it likes.
_READING = 0.2
_SHOWN = 10
ENDED = ("Z", "X")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process as the kernel shows it; its ticks of CPU include those of its children that ended."""

    pid: int
    name: str
    state: str  # R, S, D ... as in proc(5)
    parent: int
    group: int
    session: int
    ticks: int
    started: int

    @property
    def key(self) -> tuple[int, int]:
        """What no other process has, also not a later one with the same number."""
        return self.pid, self.started


def own_age() -> float:
    """Return for how many seconds this process has lived, also those before its interpreter ran; 0 if unknown.

    The kernel counts from the machine's start, a machine's sleep included.
    """
    for own in _seen(os.getpid()):
        began = own.started / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began)
    return 0.0


def every_process() -> Iterator[Process]:
    """Yield all processes, those too that ended and that no parent asked for."""
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            yield from _seen(int(entry.name))


def family(pid: int, everyone: Sequence[Process] = ()) -> tuple[Process, ...]:
    """Return a session's leader, its group, its session, and all below them, of all that were seen, or are now."""
    everyone = everyone or tuple(every_process())
    found = {process.pid: process for process in everyone if pid in (process.group, process.session)}
    more = found
    while more:
        more = {each.pid: each for each in everyone if each.parent in found and each.pid not in found}
        found = found | more
    return tuple(found.values())


def in_group(group: int) -> list[Process]:
    """Return what lives in a process group."""
    return [each for each in every_process() if each.group == group and each.state not in ENDED]


def descendants(spare: Callable[[Process], bool] = lambda _process: False) -> list[Process]:
    """Return what lives below this process, but nothing that is to be spared, and nothing below that."""
    found: list[Process] = []
    level = _children(os.getpid())
    while level:
        seen = [each for pid in level for each in _seen(pid) if each.state not in ENDED and not spare(each)]
        found += seen
        level = [pid for each in seen for pid in _children(each.pid)]
    return found


def can_be_continued() -> bool:
    """Return whether a shell with jobs is above this group of processes: without one, the kernel stops none of it."""
    above = os.getpid()
    with suppress(OSError):
        while above and os.getpgid(above) == os.getpgrp():
            above = next((each.parent for each in _seen(above)), 0)
        return above != 0 and os.getsid(above) == os.getsid(0)
    return False


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped at the moment."""
    return any(each.state == "T" for each in _seen(pid))


def told_of(processes: Sequence[Process]) -> dict[str, object]:
    """Return the facts of an event about some processes: each by its number and its command line, without secrets."""
    lines = _command_lines(processes[:_SHOWN])
    named = [{"pid": each.pid, "argv": lines[each.pid]} for each in processes[:_SHOWN]]
    return {"processes": named, "count": len(processes)}


def _command_lines(processes: Iterable[Process]) -> dict[int, list[str]]:
    """Return command lines by number; the program's short name where the line cannot be had, or not in time."""
    lines = {each.pid: [each.name] for each in processes}

    def read() -> None:
        for pid in tuple(lines):
            with suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").rstrip("\0")
                lines[pid] = masked(words.split("\0")) if words else lines[pid]

    reader = threading.Thread(target=read, name="command lines", daemon=True)
    reader.start()
    reader.join(_READING)
    return dict(lines)


def _children(pid: int) -> list[int]:
    """Return the children of a process, those too that ended."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def _seen(pid: int) -> Iterator[Process]:
    """Yield a process, if it is still there."""
    with suppress(OSError):
        yield _parsed(Path(f"/proc/{pid}/stat").read_bytes())


def _parsed(stat: bytes) -> Process:
    """Read one line of the kernel's; the program's name stands in brackets and may have any characters in it."""
    pid, _, rest = stat.partition(b" ")
    name, _, more = rest.rpartition(b")")
    fields = more.split()
    parent, group, session = map(int, fields[1:4])
    return Process(
        pid=int(pid),
        name=name.removeprefix(b"(").decode(errors="replace"),
        state=fields[0].decode(),
        parent=parent,
        group=group,
        session=session,
        ticks=sum(map(int, fields[11:15])),
        started=int(fields[19]),
    )
