"""Watches the programs while they run: what the leader is told of them, and where they stand when it asks.

The stacks are taken on a thread; here are only looks at what is known, on the main thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from launcher.pod.gang.protocol.messages import Alarm, StackDigest, Trouble
from launcher.pod.programs import processes
from launcher.pod.programs.policy import Child, exit_code, soonest
from launcher.pod.programs.stacks.asking import ProgramStacks
from launcher.pod.programs.stacks.taker import StackTaker
from launcher.pod.programs.watching import stall_rule
from launcher.pod.programs.watching.pace import PaceWatch
from launcher.pod.programs.watching.stall import ABORTED, StallWatch, dump
from launcher.pod.settings.nouns import Role

MOST_ALARMS = 8  # alarms that are told at a time; the leader hears each within a poll
ABORTING = 0.1  # seconds, in which the stacks are written
TITLE = "==== where {} stands, by its launcher ====\n"
_FRAME = '  File "'


@dataclass(slots=True, kw_only=True)
class ProgramWatch:
    """What is found out of one generation's programs here; `ranks` are their own, by name; what has none is
    no program of the user's.

    `say` writes lines into a program's log, `save` is given the stacks of each look.
    """

    generation: int
    ranks: Mapping[str, int]
    stall: StallWatch
    pace: PaceWatch
    taker: StackTaker
    say: Callable[[str, bytes], None]
    save: Callable[[int, int, Sequence[ProgramStacks]], None]
    alarms: tuple[Alarm, ...] = ()
    _count: int = 0
    _stalled: set[str] = field(default_factory=set)
    _alarmed: set[str] = field(default_factory=set)  # whose stacks are for their logs, too
    _framed: set[str] = field(default_factory=set)  # whose frames are in their logs

    def __post_init__(self) -> None:
        """Have the stacks of those that there is an alarm about written into their logs."""
        self.taker.keep = self._keep

    def look(self, children: Sequence[Child], now: float) -> float | None:
        """Look at those that it is time to look at, and return when to look next."""
        until = soonest(self.stall.look(children, now), self.pace.look(children, now))
        for name in self.stall.stalled.keys() - self._stalled:
            self._stalled.add(name)
            reason = stall_rule.stall_words(name, self.stall.timeout or 0.0, stacks=False)
            self._alarm(name, Trouble.STALLED, reason, exit_code(ABORTED))
        for found in self.pace.found:
            self._alarm(found.child, found.kind, found.reason, found.code)
        return until

    def take(self, look: int, children: Sequence[Child]) -> None:
        """Have the stacks of all programs taken for a look of the leader's, once."""
        if look > self.looked:
            running = [child for child in children if child.pid and child.running and child.name in self.ranks]
            self.taker.ask(look, [(child.role, self.ranks[child.name], child.pid) for child in running])

    def abort(self, children: Sequence[Child]) -> None:
        """Have a stalled program write its stacks by its end, where a look did not learn its frames."""
        for child in children:
            unknown = child.name in self.stall.stalled and child.name not in self._framed
            if unknown and child.running and child.told is None:
                self._framed.add(child.name)
                dump(child.pid)
                _await_end(child.pid)  # a TERM that comes before the stacks are written ends it at once

    @property
    def looked(self) -> int:
        """The last look for which all was taken."""
        return self.taker.taken[0]

    @property
    def standing(self) -> tuple[StackDigest, ...]:
        """Where the programs stood then."""
        return tuple(each.digest for each in self.taker.taken[1])

    def _keep(self, look: int, found: Sequence[ProgramStacks]) -> None:
        """Write the stacks into the logs of programs that there is an alarm about; the taker's thread calls it."""
        self.save(self.generation, look, found)
        for name in tuple(self._alarmed):
            for each in found:
                if each.digest.role is not Role.PSERVER and each.digest.rank == self.ranks[name]:
                    if _FRAME in each.text:
                        self._framed.add(name)
                    self.say(name, f"{TITLE.format(name)}{each.text.rstrip()}\n".encode(errors="replace"))

    def _alarm(self, name: str, kind: Trouble, reason: str, code: int) -> None:
        """Tell the leader of something; where the program stands is of interest if it stands."""
        if kind is not Trouble.NOT_A_NUMBER:
            self._alarmed.add(name)
        self._count += 1
        alarm = Alarm(
            number=self._count,
            generation=self.generation,
            kind=kind,
            rank=self.ranks[name],
            reason=reason,
            code=code,
        )
        self.alarms = (*self.alarms, alarm)[-MOST_ALARMS:]


def _await_end(session: int) -> None:
    until = time.monotonic() + ABORTING
    while processes.in_group(session) and time.monotonic() < until:
        time.sleep(0.005)
