"""What may not be in a gang whose width changes, and what its changes cost, by what was told of it. No I/O here."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.soak.width_plans import ASKS, WidthPlan
from tests.support.histories import Life

THIRD = 3  # planned end in a row without a new pass spends a restart
LONG = 6  # a grace of so many seconds is enough to save a pass in its half, on a busy machine too
SAYS_PLANNED = ("told to stop", "ready to take part", "ended as planned")
Lines = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """From one start that trained to the next: what it cost, and between which widths.

    `twice` are the steps that were made again, `still` the seconds from the last step to the first.
    """

    before: int
    after: int
    restarts: int
    twice: int
    still: float
    asked: bool


def undisturbed(steps: int) -> str:
    """Return what a training of so many steps comes to that nobody disturbs."""
    state = "nothing"
    for step in range(1, steps + 1):
        state = hashlib.sha256(f"{state}/{step}".encode()).hexdigest()
    return state


def ranks_wrong(made: Lines, lives: Sequence[Life], plan: WidthPlan) -> Iterator[str]:
    """Yield which start has a width that it may not have, or ranks with a gap or twice."""
    widths = {each["generation"]: len(each["members"]) for each in made}
    for each in made:
        number, width = each["generation"], len(each["members"])
        if sorted(member["rank"] for member in each["members"]) != list(range(width)):
            yield f"generation {number} has these ranks: {each['members']}"
        if not plan.least <= width <= plan.most or width % plan.unit:
            yield f"generation {number} is {width} wide"
    for (number, rank), times in Counter((life.generation, life.rank) for life in lives).items():
        if times > 1 or rank >= widths.get(number, 0):
            yield f"rank {rank} of generation {number} ran {times} times, of {widths.get(number)}"
    strange = [life for life in lives if life.trainers != widths.get(life.generation)]
    yield from (f"{life.name} is one of {life.trainers}" for life in strange)


def shards_wrong(begun: Lines, plan: WidthPlan) -> Iterator[str]:
    """Yield which start gave a shard to two, or one to nobody though all had begun."""
    starts = defaultdict(list)
    for each in begun:
        starts[each["generation"]].append(each)
    for number, ours in starts.items():
        given = sorted(name for each in ours for name in each["data"])
        whole = len(ours) == ours[0]["of"]
        if len(set(given)) < len(given) or (whole and len(given) != plan.shards):
            yield f"generation {number} has these shards: {[(each['rank'], each['data']) for each in ours]}"


def costs_wrong(made: Lines, plan: WidthPlan) -> Iterator[str]:
    """Yield which start spent a restart and was to spend none: the one before ended as planned, and not in a row."""
    row = 0
    for before, after in pairwise(made):
        spent = after["restarts"] - before["restarts"]
        planned = plan.planned or any(words in after["cause"] for words in SAYS_PLANNED)
        row = row + 1 if before["resume"] == after["resume"] else 1
        if spent and planned and row < THIRD:
            yield f"generation {after['generation']} spent {spent} restarts: {after['cause']}"
        row = 0 if spent else row


def changes(made: Lines, told: Lines, *, asked: bool) -> Iterator[Change]:
    """Yield what it cost from each start that made a step to the next."""
    starts = {each["generation"]: each for each in made}
    steps = defaultdict(list)
    for each in told:
        steps[each["generation"]].append(each)
    farthest = 0
    for before, after in pairwise(sorted(steps)):
        farthest = max(farthest, *(each["step"] for each in steps[before]))
        yield Change(
            before=len(starts[before]["members"]),
            after=len(starts[after]["members"]),
            restarts=starts[after]["restarts"] - starts[before]["restarts"],
            twice=max(0, farthest + 1 - min(each["step"] for each in steps[after])),
            still=min(each["at"] for each in steps[after]) - max(each["at"] for each in steps[before]),
            asked=asked,
        )


def steps_wrong(found: Sequence[Change], plan: WidthPlan) -> Iterator[str]:
    """Yield which start made steps again though all was planned, and programs had asked and had the time to save."""
    if plan.planned and plan.program == ASKS and plan.grace >= LONG and not plan.early:
        yield from (f"{each.twice} steps were made again, {each}" for each in found if each.twice)
