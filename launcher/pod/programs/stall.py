"""Watches the trainers for one that stands still, and ends it so that it tells where: a hang is a failure too."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from launcher.pod.gang.protocol.messages import Marks
from launcher.pod.programs import family, stall_rule
from launcher.pod.programs.policy import Child
from launcher.pod.programs.stall_rule import Sample, Stillness
from launcher.pod.settings.nouns import Role

# A trainer that was told to write its stacks has this long to do it.
WRITING = 2.0


@dataclass(slots=True, kw_only=True)
class Vigil:
    """What is known of each trainer's signs of life; without a time-out nobody is watched."""

    timeout: float | None
    written: Callable[[str], int]
    marks: Callable[[], Marks]
    reasons: dict[str, str] = field(default_factory=dict)
    _seen: dict[int, Stillness] = field(default_factory=dict)
    _dumped: dict[int, float] = field(default_factory=dict)

    @property
    def environment(self) -> Mapping[str, str]:
        """What makes a trainer able to write its stacks."""
        return family.ENVIRON if self.timeout else {}

    def look(self, children: Sequence[Child], now: float) -> float | None:
        """Look at those that it is time to look at, and return when to look next."""
        trainers = [each for each in children if each.role is Role.TRAINER and each.running and each.told is None]
        dues = [self._one(child, self.timeout, now) for child in trainers] if self.timeout else []
        return min(dues, default=None)

    def judged(self, child: Child) -> Child:
        """Return what a child's end counts as: a shell above one that stood still may make a 0 of its abort."""
        return replace(child, code=-signal.SIGABRT) if child.code == 0 and child.name in self.reasons else child

    def _one(self, child: Child, timeout: float, now: float) -> float:
        if child.pid in self._dumped:
            due = self._dumped[child.pid] + WRITING
            if now >= due:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.pid, signal.SIGKILL)
            return max(due, now + WRITING / 2)
        state = self._seen.get(child.pid)
        if state and now < stall_rule.due(state, timeout):
            return stall_rule.due(state, timeout)
        sample = self._sample(child)
        state = stall_rule.observe(state, sample, now, timeout) if state else stall_rule.begin(sample, now)
        self._seen[child.pid] = state
        if stall_rule.stalled(state, timeout):
            stacks = family.dump(child.pid)
            self._dumped[child.pid] = now
            self.reasons[child.name] = stall_rule.words(child.name, timeout, stacks=stacks)
            return now + WRITING
        return stall_rule.due(state, timeout)

    def _sample(self, child: Child) -> Sample:
        marks = self.marks()
        return Sample(
            output=self.written(child.name),
            cpu=family.cpu_seconds(child.pid),
            progress=tuple(sorted(marks.progress.items())),
            waiting=bool(marks.at),
        )
