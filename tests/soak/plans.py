"""What one run of the soak is to suffer: all of it follows from a seed. No I/O here."""

from __future__ import annotations

import random
from dataclasses import dataclass

PODS = 5
PASSES = 5
FIRST = 1.5  # the first fault comes within so many seconds of the start, or of the first trainer's
BETWEEN = 1.5
EARLY = 0.3  # so many runs have it before anybody trains
LONGEST_FREEZE = 5.0

TRAINER, PSERVER = "kill a trainer", "kill a pserver"
LAUNCHER, FREEZE = "kill a launcher", "freeze a pod"
STOP, LOSS = "TERM and replace a pod", "lose and replace a pod"
DRAIN = "TERM and replace the leader and a pod at once, whose trainers ignore it"
STRANGER = "another job at a lost launcher's address"
SHELL = "kill a launcher that is not process 1, its programs behind shells"
TORN, ALWAYS = "tear the newest checkpoint", "a trainer that always fails"
EARLY_END = "a trainer that is done before the others"
LAST_EXIT, LAST_STOP = "a pserver exits with 1 in the last second", "a pserver is stopped in the last second"
TIMED = (TRAINER, PSERVER, LAUNCHER, FREEZE, STOP, LOSS, DRAIN, STRANGER, SHELL)
OF_PROGRAMS = (TORN, EARLY_END, LAST_EXIT, LAST_STOP)
# To be found by the histories, and in no plan that follows from a seed.
OVERLAP, LIE = "a process of the next generation", "a trainer that notes another end"
AT_ONCE = 0.2  # so often a fault comes together with the one before it
HOPELESS = 0.05  # so many runs have a fault that no restart cures


@dataclass(frozen=True, slots=True, kw_only=True)
class Blow:
    """One fault: what, to the pod in which place, when; a torn checkpoint is told by its pass."""

    kind: str
    place: int = 0
    at: float = 0.0
    lasts: float = 0.0
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run: its seed, its faults in the order of their times, and whether they begin before anybody trains."""

    seed: int
    blows: tuple[Blow, ...]
    early: bool = False

    def has(self, kind: str) -> bool:
        """Return whether a fault of this kind is among them."""
        return any(blow.kind == kind for blow in self.blows)

    @property
    def hopeless(self) -> int | None:
        """The place whose trainer always fails, None where every fault can be outlived."""
        return next((blow.place for blow in self.blows if blow.kind == ALWAYS), None)


def plan(seed: int) -> Plan:
    """Return what a seed stands for."""
    dice = random.Random(seed)  # noqa: S311  # no secret
    if dice.random() < HOPELESS:
        return Plan(seed=seed, blows=(Blow(kind=ALWAYS, place=dice.randrange(PODS), number=dice.randrange(PASSES)),))
    blows: list[Blow] = []
    at = dice.uniform(0.0, FIRST)
    for _ in range(dice.randint(1, 4)):
        blows.append(_blow(dice, at, [blow.place for blow in blows if blow.at == at]))
        at += 0.0 if dice.random() < AT_ONCE else dice.uniform(0.0, BETWEEN)
    return Plan(seed=seed, blows=tuple(blows), early=dice.random() < EARLY)


def _blow(dice: random.Random, at: float, taken: list[int]) -> Blow:
    kind = dice.choice((*TIMED, *OF_PROGRAMS))
    if kind in OF_PROGRAMS:
        return Blow(kind=kind, place=dice.randrange(PODS), number=dice.randrange(1, PASSES))
    place = dice.choice([place for place in range(PODS) if place not in taken])
    lasts = dice.uniform(0.1, LONGEST_FREEZE) if kind == FREEZE else 0.0
    return Blow(kind=kind, place=place, at=at, lasts=lasts)
