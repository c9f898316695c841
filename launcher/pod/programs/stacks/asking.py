"""Asks the processes of programs for their frames, by signals: the programs at once, a program's one by one.

Without its handler a signal ends a process, so it is sent only to one that is seen to have it, and whose answer
goes to the launcher's own file. It may end one blocking call of a C library early: never ask by a clock.

The main thread alone is asked first. It writes its own frames, which nobody else changes. To write those of all
threads while one of them runs has killed Pythons of every version, so that is asked only of a process whose helper
threads have not moved for a while.
"""

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Self

from launcher.pod.gang.protocol.messages import StackDigest
from launcher.pod.programs import processes
from launcher.pod.programs.processes import Process
from launcher.pod.programs.stacks import care, kernel
from launcher.pod.programs.stacks.care import ALL_SIGNAL, MAIN_SIGNAL, Repose, Unasked
from launcher.pod.programs.stacks.files import StackFile, StackFiles
from launcher.pod.programs.stacks.frames import ProgramPlace, place_in
from launcher.pod.programs.stacks.kernel import TaskStatus, bit
from launcher.pod.settings.nouns import Role

ANSWERS_WITHIN = 0.5  # seconds for a process
BACK_WITHIN = 1.5  # for one in the kernel, which answers when it comes back: from one write to a slow disk
ALL_WITHIN = 2.0
MOST_ASKED = 64  # processes of a program
MOST_TEXT = 64 * 1024  # bytes of a process
_MOST_TOLD = 256 * 1024  # characters of a program
_QUIET, _STILL = 0.05, 0.5  # seconds without a move: of helper threads, of what an interrupted call would end
_TICK = 0.0005
_NOTHING = 0.25  # so long after the signal was taken there is a first byte, or another's handler took it

_Order = tuple[int, int] | None  # a signal, and the thread that is to get it
_Refused = set[tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramStacks:
    """Where a program stands, by its digest, and the stacks of its processes as text."""

    digest: StackDigest
    text: str


@dataclass(slots=True, kw_only=True)
class _Stood:
    """What one process said, or why nothing; and how it was before it was asked."""

    process: Process
    before: Repose | None
    fragile: bool = False
    state: str = ""
    text: str = ""
    place: ProgramPlace | None = None

    def at_once(self) -> _Order:
        """Have the main thread asked for its own frames, if it may be interrupted in anything."""
        pid = self.process.pid
        status = TaskStatus.of(pid)
        blocks = status is not None and status.blocked & bit(MAIN_SIGNAL)
        self.state = Unasked.BLOCKS if blocks else Unasked.FRAGILE
        may = status and not blocks and not self.fragile and care.by_main(pid, status, still=False)
        return (MAIN_SIGNAL, pid) if may else None

    def when_quiet(self) -> _Order:
        """Have the frames of all threads written, if no helper has moved; by one of them, where main may not."""
        pid, before, stuck = self.process.pid, self.before, self.state == Unasked.STUCK
        if self.fragile or before is None or not before.of_helpers(pid):
            return None
        if self.state and not stuck and not before.of_main(pid):
            return None
        by = care.by_helper(pid) if stuck or self.state == Unasked.FRAGILE else kernel.taker(pid, ALL_SIGNAL)
        return (ALL_SIGNAL, by) if by else None

    @property
    def delicate(self) -> bool:
        """Whether it may be asked once it has not moved for long."""
        return self.state == Unasked.FRAGILE and (self.fragile or care.in_fuse(self.process.pid))

    def when_still(self) -> _Order:
        """Have what is delicate asked, if its main thread has not moved for long."""
        pid, before = self.process.pid, self.before
        status = TaskStatus.of(pid)
        if not (self.delicate and before and status and before.of_main(pid)):
            self.before = Repose.of(pid)  # it may be still from now on
            return None
        if care.by_main(pid, status, still=True):
            return MAIN_SIGNAL, pid
        by = care.by_helper(pid) if before.of_helpers(pid) else None
        return (ALL_SIGNAL, by) if by else None


@dataclass(slots=True, kw_only=True)
class _Asked:
    """A process of which a thread was sent a signal."""

    stood: _Stood
    signum: int
    tid: int
    asleep: bool
    since: float
    within: float = ANSWERS_WITHIN
    taken: float | None = None  # since when the signal is no more pending though nothing is written

    def is_done(self, file: StackFile, now: float) -> bool:
        """Return whether it has answered, cannot any more, or took the signal for something else."""
        written = file.size  # before the look whether its handler runs: what has written is seen in it until it ends
        status = TaskStatus.of(self.stood.process.pid, self.tid)
        if status is None:
            return True
        if status.state == "D":
            self.within = BACK_WITHIN
        if (status.pending | status.blocked) & bit(self.signum):
            self.taken = None
            return False
        if written:
            return True
        self.taken = self.taken or now
        return now >= self.taken + _NOTHING


@dataclass(slots=True, kw_only=True)
class _Turn:
    """One program: its processes, of which one is asked at a time since they write to one file."""

    role: Role
    rank: int
    file: StackFile
    stood: list[_Stood]
    beyond: int  # processes that are not asked
    until: float
    refused: _Refused
    left: deque[_Stood] = field(default_factory=deque)
    asked: _Asked | None = None

    @classmethod
    def of(
        cls, role: Role, rank: int, file: StackFile, family: Sequence[Process], refused: _Refused, until: float
    ) -> Self:
        """Begin with its leader, and then as they were started."""
        stood = [_Stood(process=each, before=Repose.of(each.pid)) for each in family[:MOST_ASKED]]
        beyond = len(family) - len(stood)
        return cls(role=role, rank=rank, file=file, stood=stood, beyond=beyond, until=until, refused=refused)

    def go_on(self, order: Callable[[_Stood], _Order]) -> bool:
        """Take the answer that came, ask the next; return whether one is waited for."""
        while True:
            now = time.monotonic()
            if self.asked:
                done = self.asked.is_done(self.file, now)
                if not done and now < min(self.asked.since + self.asked.within, self.until):
                    return True
                self._take(self.asked, done=done)
            if not self.left:
                return False
            self._next(self.left.popleft(), order, late=now >= self.until)

    def _next(self, stood: _Stood, order: Callable[[_Stood], _Order], *, late: bool) -> None:
        pid = stood.process.pid
        status = TaskStatus.of(pid)
        why = care.why_not(stood.process, status, self.file, self.refused, ALL_SIGNAL)
        why = why or (Unasked.SILENT if late else "")
        if why or status is None:
            stood.state = "" if stood.place else stood.state or why
            return
        to = order(stood)
        if to is None:
            return
        self.file.clear()
        signum, tid = to
        ctypes.CDLL(None).tgkill(pid, tid, signum)  # to a process, it may be taken by a thread that is being made
        self.asked = _Asked(stood=stood, signum=signum, tid=tid, asleep=status.state != "R", since=time.monotonic())

    def _take(self, asked: _Asked, *, done: bool) -> None:
        self.asked = None
        stood = asked.stood
        text = self.file.read(MOST_TEXT).decode(errors="replace")
        if text and done:
            stood.text = text
            stood.place = stood.place or place_in(text, asleep=asked.asleep)
            stood.state = "" if stood.place else Unasked.FRAMELESS
        elif not stood.text:
            status = TaskStatus.of(stood.process.pid)
            stood.state = Unasked.STUCK if status and status.state == "D" else Unasked.SILENT
            if done:
                self.refused.add(stood.process.key)

    def result(self) -> ProgramStacks:
        """Return where the program stands: where its first Python does, else as its first process is."""
        digest = StackDigest(role=self.role, rank=self.rank, digest="", state=Unasked.GONE)
        # A shell above it has no handler; what cannot answer has one.
        known = [each for each in self.stood if each.state != Unasked.DEAF] or self.stood
        told = next((each for each in known if each.place), next(iter(known), None))
        if told:
            stands = told.place or (care.at_socket(told.process.pid) if told.state == Unasked.FRAGILE else None)
            where = stands.where if stands else kernel.state_of(told.process.pid)
            digest = replace(digest, state="" if stands else told.state, where=where)
            digest = replace(digest, digest=stands.digest, waits=stands.waits) if stands else digest
        if any(each.state == Unasked.STOPPED for each in self.stood):
            digest = replace(digest, state=Unasked.STOPPED)
        return ProgramStacks(digest=digest, text=self._text())

    def _text(self) -> str:
        parts = [
            f"process {each.process.pid} ({each.process.name}){each.state and f': {each.state}'}\n"
            f"{each.text or kernel.threads_of(each.process.pid)}"
            for each in self.stood
        ]
        if self.beyond:
            parts.append(f"and {self.beyond} more processes\n")
        return "\n".join(parts)[:_MOST_TOLD]


def take(
    programs: Sequence[tuple[Role, int, int]], files: StackFiles, refused: _Refused
) -> tuple[ProgramStacks, ...]:
    """Return where programs stand, each given as role, rank and the pid of its session's leader.

    `refused` keeps those that took the signal for something of their own: they are never asked again.
    """
    begun = time.monotonic()
    everyone = tuple(processes.every_process())
    turns = []
    for role, rank, pid in programs:
        with suppress(OSError):  # no descriptor is left for the file of this one
            file = files.of(role, rank)
            turns.append(_Turn.of(role, rank, file, _family(pid, everyone), refused, begun + ALL_WITHIN))
    everything = [stood for turn in turns for stood in turn.stood]
    fragile = care.fragile_ones(stood.process.pid for stood in everything)
    for stood in everything:
        stood.fragile = stood.process.pid in fragile
    _go_through(turns, _Stood.at_once)
    _sleep_until(begun + _QUIET)
    _go_through(turns, _Stood.when_quiet)
    if any(stood.delicate for stood in everything):
        _sleep_until(begun + _STILL)
        _go_through(turns, _Stood.when_still)
    if any(stood.delicate and care.in_fuse(stood.process.pid) for stood in everything):  # it wrote once meanwhile
        _sleep_until(begun + 2 * _STILL)
        _go_through(turns, _Stood.when_still)
    return tuple(turn.result() for turn in turns)


def _go_through(turns: Sequence[_Turn], order: Callable[[_Stood], _Order]) -> None:
    for turn in turns:
        turn.left = deque(turn.stood)
    while sum(turn.go_on(order) for turn in turns):
        time.sleep(_TICK)


def _sleep_until(when: float) -> None:
    time.sleep(max(0.0, when - time.monotonic()))


def _family(pid: int, everyone: Sequence[Process]) -> list[Process]:
    family = processes.family(pid, everyone)
    return sorted(family, key=lambda each: (each.pid != pid, each.started, each.pid))
