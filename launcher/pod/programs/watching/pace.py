"""Watches what the trainers report: whether a next step comes, each number is one, and barriers pass in time.

It ends nothing: what it finds is told, with a code where that is to end the generation.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from launcher.contract import Code
from launcher.pod.gang.here.service import HereService
from launcher.pod.gang.protocol.messages import Pace, Trouble
from launcher.pod.programs.policy import Child, soonest
from launcher.pod.programs.watching import pace_rule
from launcher.pod.programs.watching.pace_rule import PaceState
from launcher.pod.programs.watching.stall import cpu_seconds
from launcher.pod.settings.nouns import Role

WORKS = 0.01  # of one core: more than a thread that only looks now and then
STOOD = 128 + signal.SIGABRT  # the code of a program that was ended since it stood still


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What was found out of a trainer; with a code it is to end the generation."""

    child: str
    kind: Trouble
    rank: int
    reason: str
    code: int = 0


@dataclass(slots=True, kw_only=True)
class PaceWatch:
    """What is known of each trainer's steps in one generation; `found` is what the last look found, each once.

    `timeout` is the least time without a step that ends a generation; without one it is only told.
    """

    timeout: float | None
    nan_fails: bool
    here: Callable[[str], HereService]
    found: tuple[Sighting, ...] = ()
    _seen: dict[int, PaceState] = field(default_factory=dict)
    _used: dict[int, tuple[float, float]] = field(default_factory=dict)  # CPU seconds amid a stand, and when
    _told: dict[int, set[tuple[Trouble, str]]] = field(default_factory=dict)

    def look(self, children: Sequence[Child], now: float) -> float | None:
        """Look at those that it is time to look at, and return when to look next."""
        trainers = [each for each in children if each.role is Role.TRAINER and each.pid]
        running = [each for each in trainers if each.running and each.told is None]
        reported = [found for child in trainers for found in self._reported(child)]  # one may have ended since
        self.found = (*reported, *(found for child in running for found in self._steps(child, now)))
        return soonest(*(self._due(child) for child in running))

    @property
    def _least(self) -> float:
        return self.timeout or pace_rule.LEAST

    def _due(self, child: Child) -> float | None:
        state = self._seen.get(child.pid)
        return pace_rule.pace_due(state, self._least) if state else None

    def _reported(self, child: Child) -> Sequence[Sighting]:
        here, told = self.here(child.name), self._told.setdefault(child.pid, set())
        fresh = [(key, words) for key, words in here.troubles.items() if key not in told]
        told.update(key for key, _ in fresh)
        return [self._sighting(child, kind, words) for (kind, _), words in fresh]

    def _sighting(self, child: Child, kind: Trouble, words: str) -> Sighting:
        stands, odd = STOOD if self.timeout else 0, Code.DATA if self.nan_fails else 0
        code = {Trouble.NO_STEP: stands, Trouble.NOT_A_NUMBER: odd}.get(kind, 0)
        rank = self.here(child.name).rank
        return Sighting(child=child.name, kind=kind, rank=rank, reason=f"trainer {rank} {words}", code=code)

    def _steps(self, child: Child, now: float) -> Sequence[Sighting]:
        pace, due = self.here(child.name).pace, self._due(child)
        if pace is None or (due is not None and now < due):
            return ()
        state = self._seen[child.pid] = self._stood(child, pace, now)
        self._note_cpu(child, state, now)
        if not pace_rule.overdue(state, self._least):
            return ()
        self._seen[child.pid] = replace(state, told=True)
        return (self._sighting(child, Trouble.NO_STEP, pace_rule.late_words(state, works=self._works(child, now))),)

    def _stood(self, child: Child, pace: Pace, now: float) -> PaceState:
        away = sum(self.here(child.name).spent(now).values())
        state = self._seen.get(child.pid)
        if state is None:
            return pace_rule.watched_from(pace.steps, away, now)
        return pace_rule.paced(state, pace.steps, away, now, self._least)

    def _note_cpu(self, child: Child, state: PaceState, now: float) -> None:
        """Look at its CPU once a stand may be one: all of a family's files are read for it."""
        if state.still < pace_rule.limit(state, self._least) / 2:
            self._used.pop(child.pid, None)
        elif child.pid not in self._used:
            self._used[child.pid] = cpu_seconds(child.pid), now

    def _works(self, child: Child, now: float) -> bool:
        used, at = self._used[child.pid]
        return cpu_seconds(child.pid) - used > WORKS * (now - at)
