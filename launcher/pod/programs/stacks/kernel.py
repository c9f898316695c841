"""What the kernel shows of a process: which signals it takes, how its threads are and where they wait.

Reads /proc alone; what cannot be read is not known, and no error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "in the kernel",
    "T": "stopped",
    "t": "stopped by a debugger",
    "Z": "ended",
    "X": "ended",
    "I": "sleeping",
}
_SHOWN = 8  # threads
_LOOKED_AT = 4096
_WATCHED = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatus:
    """A thread, or a process by its main thread: its state, and its sets of signals as the kernel's bits."""

    name: str
    state: str
    threads: int
    sleeps: int  # how often it gave its CPU back by itself
    caught: int
    blocked: int
    pending: int

    @classmethod
    def of(cls, pid: int, tid: int | None = None) -> Self | None:
        """Return what /proc says, None where there is no such thread any more."""
        try:
            lines = Path(f"/proc/{pid}/task/{tid or pid}/status").read_bytes().decode(errors="replace").split("\n")
        except OSError:
            return None
        said = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return cls(
            name=said.get("Name", "?"),
            state=said.get("State", "?")[:1],
            threads=int(said.get("Threads", "1")),
            sleeps=int(said.get("voluntary_ctxt_switches", "0")),
            caught=_mask(said, "SigCgt"),
            blocked=_mask(said, "SigBlk"),
            pending=_mask(said, "SigPnd") | _mask(said, "ShdPnd"),
        )

    @property
    def words(self) -> str:
        """Its state, for people."""
        return _STATES.get(self.state, self.state)


def bit(signum: int) -> int:
    """Return a signal's bit in a set."""
    return 1 << (signum - 1)


def taker(pid: int, signum: int) -> int | None:
    """Return a thread of a process that does not block a signal, the main one first; None where all do."""
    tasks = ((tid, TaskStatus.of(pid, tid)) for tid in (pid, *_tasks(pid)))
    return next((tid for tid, task in tasks if task and not task.blocked & bit(signum)), None)


def channel(pid: int, tid: int | None = None) -> str:
    """Return the function of the kernel in which a thread waits, nothing where it does not, or that is hidden."""
    with suppress(OSError):
        found = Path(f"/proc/{pid}/task/{tid or pid}/wchan").read_text()
        return "" if found == "0" else found
    return ""


def helper_in(pid: int, part: str, signum: int) -> int | None:
    """Return a helper thread that waits in such a function of the kernel, and does not block a signal."""
    waiting = (tid for tid in _tasks(pid) if tid != pid and part in channel(pid, tid))
    tasks = ((tid, TaskStatus.of(pid, tid)) for tid in waiting)
    return next((tid for tid, task in tasks if task and not task.blocked & bit(signum)), None)


def pulse(pid: int) -> Mapping[int, int] | None:
    """Return how often each helper thread slept; None where one works now, or where they are too many."""
    tids = _tasks(pid)
    tasks = {tid: TaskStatus.of(pid, tid) for tid in tids if tid != pid} if len(tids) <= _WATCHED else {}
    if len(tids) > _WATCHED or any(task is None or task.state == "R" for task in tasks.values()):
        return None
    return {tid: task.sleeps for tid, task in tasks.items() if task}


def threads_of(pid: int) -> str:
    """Return how a process is, a line for it and for each of its first threads, where it has several."""
    status = TaskStatus.of(pid)
    if status is None:
        return "  it has ended\n"
    lines = [f"  {_one(pid, pid, status)}"]
    others = [tid for tid in _tasks(pid) if tid != pid]
    for tid in others[:_SHOWN]:
        if task := TaskStatus.of(pid, tid):
            lines.append(f"  thread {tid} ({task.name}): {_one(pid, tid, task)}")
    if len(others) > _SHOWN:
        lines.append(f"  and {len(others) - _SHOWN} more threads")
    return "".join(f"{line}\n" for line in lines)


def state_of(pid: int) -> str:
    """Return how a process is, in a few words."""
    status = TaskStatus.of(pid)
    return f"{status.name} {_one(pid, pid, status)}" if status else "ended"


def _one(pid: int, tid: int, status: TaskStatus) -> str:
    where = channel(pid, tid)
    return f"{status.words} in {where}" if where else status.words


def _tasks(pid: int) -> list[int]:
    with suppress(OSError):
        return sorted(map(int, os.listdir(f"/proc/{pid}/task")))[:_LOOKED_AT]  # noqa: PTH208
    return []


def _mask(said: Mapping[str, str], name: str) -> int:
    return int(said.get(name, "0"), 16)
