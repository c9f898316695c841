"""Which processes may be sent a signal, and through which thread: a training must go on as if nobody had asked.

A signal ends a call that waits for signals alone (`pause`), and a wait at a socket that has a time-out: libraries
take that for a failure. Python's own sockets have none, but whose wait it is cannot be seen from here.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterable, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from launcher.pod.programs import processes
from launcher.pod.programs.processes import Process
from launcher.pod.programs.stacks import kernel
from launcher.pod.programs.stacks.files import StackFile
from launcher.pod.programs.stacks.frames import ProgramPlace
from launcher.pod.programs.stacks.kernel import TaskStatus, bit

MAIN_SIGNAL, ALL_SIGNAL = 41, 42  # as launcher/stackable has them, by number
# LightGBM 4.7.0 ("Socket recv error, Interrupted system call") and XGBoost 3.2.0 go to such a wait at any moment.
_FRAGILE = (b"lib_lightgbm", b"libxgboost")
# Where the kernel waits for another machine, as it has called it since 5.10; sockets of this machine are Python's.
_NETWORK = ("wait_woken", "sk_wait", "sk_stream_wait", "inet_csk_accept", "inet_stream_connect", "inet_wait", "tcp_")
_SIGNALS_ALONE = ("pause", "sigsuspend")
_FUSE = ("request_wait_answer", "fuse_")  # some servers end a read or a write early then
_FUTEX = "futex"  # such a wait goes on after a signal
# Between fork and exec a process has the handler that it will not have a moment later.
_YOUNG = 0.1
_MAPS_WITHIN = 0.2  # seconds; where a volume hangs the kernel may keep them back
_TICKS = os.sysconf("SC_CLK_TCK")


class Unasked:
    """Why nothing is known of where a process stands."""

    STOPPED, BLOCKS, STUCK, SILENT = "stopped", "blocks signals", "in the kernel", "no answer"
    DEAF, YOUNG, GONE, FRAGILE = "no handler", "just started", "ended", "not to be interrupted"
    FRAMELESS = "no Python frame"  # it has not begun, or comes to its end


@dataclass(frozen=True, slots=True, kw_only=True)
class Repose:
    """How a process's threads were at a moment: what has not changed since did not move."""

    main: tuple[str, int]  # its state, and how often it slept
    helpers: tuple[tuple[int, int], ...] | None  # None where one of them works

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Look now."""
        status, pulse = TaskStatus.of(pid), kernel.pulse(pid)
        if status is None:
            return None
        return cls(main=(status.state, status.sleeps), helpers=None if pulse is None else tuple(pulse.items()))

    def of_main(self, pid: int) -> bool:
        """Return whether the main thread has not moved since."""
        now = Repose.of(pid)
        return now is not None and now.main == self.main

    def of_helpers(self, pid: int) -> bool:
        """Return whether there are helper threads, of which none has moved since."""
        now = Repose.of(pid)
        return bool(self.helpers) and now is not None and now.helpers == self.helpers


def why_not(
    process: Process, status: TaskStatus | None, file: StackFile, refused: Set[tuple[int, int]], signum: int
) -> str:
    """Return why a process cannot be asked at all; nothing where it can."""
    if status is None or status.state in processes.ENDED:
        return Unasked.GONE
    if not status.caught & bit(signum) or process.key in refused or not file.is_open_in(process.pid):
        return Unasked.DEAF
    if status.state in ("T", "t"):
        return Unasked.STOPPED
    if status.pending & bit(signum):  # asked before, and it has not answered since
        return Unasked.STUCK if status.state == "D" else Unasked.SILENT
    if kernel.taker(process.pid, signum) is None:
        return Unasked.BLOCKS
    if time.clock_gettime(time.CLOCK_BOOTTIME) < process.started / _TICKS + _YOUNG:
        return Unasked.YOUNG
    return ""


def by_main(pid: int, status: TaskStatus, *, still: bool) -> bool:
    """Return whether a main thread may be interrupted in what it does now; `still` it has done so for long."""
    where = kernel.channel(pid)
    hidden = still and status.state != "R" and not where
    never = (*_SIGNALS_ALONE, *_NETWORK)
    return not (hidden or any(each in where for each in (never if still else (*never, *_FUSE))))


def in_fuse(pid: int) -> bool:
    """Return whether a main thread waits for a volume of such a kind."""
    return any(each in kernel.channel(pid) for each in _FUSE)


def by_helper(pid: int) -> int | None:
    """Return a helper thread that writes all stacks without its wait being ended by it."""
    return kernel.helper_in(pid, _FUTEX, ALL_SIGNAL)


def at_socket(pid: int) -> ProgramPlace | None:
    """Return where a process stands that may not be interrupted there: it waits for another machine."""
    if not any(each in kernel.channel(pid) for each in _NETWORK):
        return None
    where = "a wait at a socket"
    return ProgramPlace(where=where, digest=hashlib.sha256(where.encode()).hexdigest()[:16], waits=True)


def fragile_ones(pids: Iterable[int]) -> frozenset[int]:
    """Return the processes that have a library which fails at an interrupted call, or of which that is not known."""
    left = set(pids)
    found = set(left)

    def read() -> None:
        for pid in tuple(left):
            try:
                mapped = Path(f"/proc/{pid}/maps").read_bytes()
            except OSError:
                continue
            if not any(each in mapped for each in _FRAGILE):
                found.discard(pid)

    reader = threading.Thread(target=read, name="maps", daemon=True)
    reader.start()
    reader.join(_MAPS_WITHIN)
    return frozenset(tuple(found))
