"""How the width of a gang is to change in a run of the soak, and by what: it follows from a seed. No I/O here."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

LEAVE, MOVE = "pods are told to stop", "a pod is told to stop, and replaced at once"
COME, SCALE = "pods come", "the Job is scaled"
SUSPEND = "all are told to stop, and some come later"
LOSS, REPLACED = "a pod is lost", "a pod is lost, and replaced at once"
DARK, AGAIN = "a pod is lost that the API goes on showing", "a launcher is killed, and comes again in its pod"
PLANNED = (LEAVE, MOVE, COME, SCALE, SUSPEND)
LOSSES = (LOSS, REPLACED, DARK, AGAIN)

ASKS, SAVES, ALONE = "asks", "saves", "alone"  # as children/resized.py has them
RESIZES = ("pass", "now", "never")
WIDTHS = ((1, 3), (2, 3), (1, 4), (2, 4))
FIRST = 2.0  # the first turn comes within so many seconds of the start, or of the first trainer's
BETWEEN = 2.5
AT_ONCE = 0.2  # so often a turn comes together with the one before it
EARLY = 0.25  # so many runs have the first before anybody trains
BY_DNS = 3  # each third seed
UNSEEING = 2.0  # by DNS a pod looks for the others so many seconds after it began, and a turn comes as much later
RACES = 0.25  # in so many the last turn races with the end of the training
LONGEST_PAUSE = 3.0  # of a Job that is suspended


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One event: who goes, who comes, seconds after the turn before; `lasts` seconds are between the two.

    Those who are told to stop are not shown any more, or (`lingers`) shown as being deleted until they have ended: a
    name goes on leading to them.
    """

    kind: str
    after: float = 0.0
    goes: tuple[int, ...] = ()
    comes: tuple[int, ...] = ()
    lasts: float = 0.0
    lingers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthPlan:
    """One run: the gang's settings, which slots begin, the turns, and whether they begin before anybody trains."""

    seed: int
    least: int
    most: int
    unit: int
    spares: int
    resize: str
    grace: int
    program: str
    indexed: bool
    dns: bool  # whether they know each other by the names of an Indexed Job, not by the API
    shards: int
    first: tuple[int, ...]
    turns: tuple[Turn, ...]
    last: int  # so many pods are there in the end, or more if these are not enough
    early: bool
    races: bool

    @property
    def slots(self) -> int:
        """How many pods there may be."""
        return self.most + self.spares

    @property
    def begins(self) -> int:
        """With how many a run can begin for certain: more than half of all are there, and enough take part."""
        return max(self.slots // 2 + 1, self.least + -self.least % self.unit)

    @property
    def planned(self) -> bool:
        """Whether no pod is lost in it."""
        return all(turn.kind in PLANNED for turn in self.turns)


@dataclass(slots=True, kw_only=True)
class _Draw:
    """What is drawn while the turns are: which slots have a pod, and which one that nobody hears."""

    dice: random.Random
    least: int
    slots: int
    here: set[int]
    dark: set[int] = field(default_factory=set)

    def turn(self, after: float) -> Turn:
        """Draw one turn that can be, and do it."""
        kind = self.dice.choice([each for each in (*PLANNED, *LOSSES) if self.can(each)])
        goes, comes = DRAWS[kind](self)
        self.here = self.here - {*goes} | {*comes}
        self.dark = self.dark - {*comes} | ({*goes} if kind == DARK else set())
        return Turn(
            kind=kind,
            after=after,
            goes=tuple(sorted(goes)),
            comes=tuple(sorted(comes)),
            lasts=self.dice.uniform(0.0, LONGEST_PAUSE) if kind == SUSPEND else 0.0,
            lingers=self.dice.random() < 0.5,
        )

    def can(self, kind: str) -> bool:
        """Return whether there is anybody to whom this can happen."""
        return len(self.here) < self.slots if kind == COME else kind == SCALE or bool(self.here)

    def some(self, among: set[int], most: int = 2) -> set[int]:
        """Draw one or some of these."""
        return set(self.dice.sample(sorted(among), self.dice.randint(1, min(most, len(among)))))

    def scale(self) -> tuple[set[int], set[int]]:
        """Draw another number of pods: the lowest slots are those that are there then."""
        counts = [each for each in range(self.least, self.slots + 1) if set(range(each)) != self.here]
        wanted = set(range(self.dice.choice(counts)))
        return self.here - wanted, wanted - self.here

    def suspend(self) -> tuple[set[int], set[int]]:
        """All go, and some come: at times fewer than are enough."""
        return set(self.here), set(range(self.dice.randint(self.least - 1, self.slots)))

    def same(self) -> tuple[set[int], set[int]]:
        """One goes, and another one comes in its slot."""
        who = self.some(self.here, 1)
        return who, who


DRAWS: dict[str, Callable[[_Draw], tuple[set[int], set[int]]]] = {
    LEAVE: lambda draw: (draw.some(draw.here), set()),
    MOVE: _Draw.same,
    COME: lambda draw: (set(), draw.some(set(range(draw.slots)) - draw.here)),
    SCALE: _Draw.scale,
    SUSPEND: _Draw.suspend,
    LOSS: lambda draw: (draw.some(draw.here, 1), set()),
    REPLACED: _Draw.same,
    DARK: lambda draw: (draw.some(draw.here, 1), set()),
    AGAIN: _Draw.same,
}


def width_plan(seed: int) -> WidthPlan:
    """Return what a seed stands for."""
    dns = seed % BY_DNS == 0
    later = UNSEEING if dns else 0.0
    dice = random.Random(f"width {seed}")  # noqa: S311  # no secret
    least, most = dice.choice(WIDTHS)
    unit = dice.choice((1, 2)) if (least, most) == (2, 4) else 1
    slots = most + (spares := dice.choice((0, 0, 1)))
    first = tuple(range(dice.randint(max(1, least - 1), slots) if dice.random() < 0.3 else slots))
    draw = _Draw(dice=dice, least=least, slots=slots, here=set(first))
    turns = [draw.turn(later + dice.uniform(0.0, FIRST))]
    for _ in range(dice.randint(1, 5)):
        turns.append(draw.turn(0.0 if dice.random() < AT_ONCE else later + dice.uniform(0.0, BETWEEN)))
    return WidthPlan(
        seed=seed,
        least=least,
        most=most,
        unit=unit,
        spares=spares,
        resize=dice.choice(RESIZES),
        grace=dice.choice((2, 6, 10)),
        program=dice.choice((ASKS, ASKS, SAVES, ALONE)),
        indexed=dice.random() < 0.7 or dns,
        dns=dns,
        shards=dice.randint(most, 6),
        first=first,
        turns=tuple(turns),
        last=dice.randint(0, slots),
        early=dice.random() < EARLY,
        races=dice.random() < RACES,
    )
