"""Watches the trainers for one that stands still: a hang is a failure too, which the leader is told of.

Where nobody ends its generation for that, the trainer is ended here, so that it tells where it stood. One that does
nothing but wait for others does not stand still: what it waits for goes to the leader, who knows whether that can
come.

A trainer's helper may work while the trainer waits for it, and may have left its session: its whole family counts, as
/proc shows it.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from launcher.pod.gang.here.service import HereService
from launcher.pod.gang.protocol.messages import Wait
from launcher.pod.programs.policy import Child, soonest
from launcher.pod.programs.processes import family
from launcher.pod.programs.watching import stall_rule
from launcher.pod.programs.watching.stall_rule import Sample, StallState
from launcher.pod.settings.nouns import Role

# The leader has this long to end the generation: longer than a look at all stacks takes.
LEADERS = 10.0
# A trainer that was told to write its stacks has this long to do it.
WRITING = 2.0
# With this a Python writes the stacks of all its threads to its standard error when SIGABRT ends it.
ENVIRON = {"PYTHONFAULTHANDLER": "1"}
ABORTED = -signal.SIGABRT  # what one that stood still counts as
TICKS = os.sysconf("SC_CLK_TCK")  # in a second
INTERPRETERS = ("python", "pypy")


@dataclass(slots=True, kw_only=True)
class StallWatch:
    """What is known of each trainer's signs of life; without a time-out only those are watched that wait.

    `stalled` is when each that stands still was found to, `reasons` why each was ended that nobody else has. `waits`
    is what each trainer has done nothing but wait for, and without a timeout, for `patience` seconds.
    """

    timeout: float | None
    patience: float
    written: Callable[[str], int]
    here: Callable[[str], HereService]
    stalled: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    waits: dict[str, tuple[Wait, ...]] = field(default_factory=dict)
    _waiting: dict[int, StallState] = field(default_factory=dict)
    _seen: dict[int, StallState] = field(default_factory=dict)
    _dumped: dict[int, float] = field(default_factory=dict)

    @property
    def environment(self) -> Mapping[str, str]:
        """What makes a trainer able to write its stacks."""
        return ENVIRON if self.timeout else {}

    def look(self, children: Sequence[Child], now: float) -> float | None:
        """Look at those that it is time to look at, and return when to look next."""
        trainers = [each for each in children if each.role is Role.TRAINER and each.running and each.told is None]
        dues = [self._one(child, self.timeout, now) for child in trainers] if self.timeout else []
        self.waits = {}
        return soonest(*dues, *(self._wait(child, now) for child in trainers))

    def judged(self, child: Child) -> Child:
        """Return what a child's end counts as: a shell above one that stood still may make a 0 of its abort."""
        return replace(child, code=ABORTED) if child.code == 0 and child.name in self.reasons else child

    def _one(self, child: Child, timeout: float, now: float) -> float:
        if child.pid in self._dumped:
            due = self._dumped[child.pid] + WRITING
            if now >= due:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.pid, signal.SIGKILL)
            return max(due, now + WRITING / 2)
        state = self._seen.get(child.pid)
        if state and now < stall_rule.stall_due(state, timeout):
            return stall_rule.stall_due(state, timeout)
        sample = self._sample(child)
        state = stall_rule.observe(state, sample, now, timeout) if state else stall_rule.begin(sample, now)
        self._seen[child.pid] = state
        if stall_rule.stalled(state, timeout):
            found = self.stalled.setdefault(child.name, now)
            if now < found + LEADERS:
                return found + LEADERS
            stacks = dump(child.pid)
            self._dumped[child.pid] = now
            self.reasons[child.name] = stall_rule.stall_words(child.name, timeout, stacks=stacks)
            return now + WRITING
        return stall_rule.stall_due(state, timeout)

    def _wait(self, child: Child, now: float) -> float | None:
        """Look whether one does nothing but wait; between two looks at its CPU waits may come and go."""
        waits = self.here(child.name).waits
        if not waits:
            return None
        state = self._waiting.get(child.pid)
        if state is None or now >= stall_rule.stall_due(state, self.patience):
            sample = replace(self._sample(child), waiting=False, waits=waits)
            state = stall_rule.observe(state, sample, now, self.patience) if state else stall_rule.begin(sample, now)
            self._waiting[child.pid] = state
        if state.alive.waits == waits and stall_rule.stalled(state, self.patience):
            self.waits[child.name] = waits
        return stall_rule.stall_due(state, self.patience)

    def _sample(self, child: Child) -> Sample:
        return Sample(
            output=self.written(child.name),
            cpu=cpu_seconds(child.pid),
            progress=(tuple(sorted(self.here(child.name).progress.items())), self.here(child.name).pace),
            waiting=self.here(child.name).waiting,
        )


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds so far of a session's leader and its family."""
    return sum(process.ticks for process in family(pid)) / TICKS


def dump(pid: int) -> bool:
    """End a child by SIGABRT so that its stacks are written, and return whether a Python was there to write them.

    Behind a leader that is no Python (a shell around the program) the nearest Python below it is meant: the leader
    then ends by itself in most cases, but the caller must see to it that all of them do.
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
    members = family(pid)
    level: Collection[int] = (pid,)
    while level:
        for each in sorted(level):
            if _is_python(each):
                return each
        level = [process.pid for process in members if process.parent in level]
    return None


def _is_python(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name.startswith(INTERPRETERS)
    except OSError:  # it ended, or belongs to another user
        return False
