"""How many shards move when a gang's width changes: ours, every n-th, and the fewest that can, as a Markdown table.

python -m bench.deal
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import pairwise
from statistics import mean

from launcher.pod.data.deal import deal

Dealt = Mapping[int, Collection[int]]
Deal = Callable[[int, int, Collection[int]], Dealt]
Slots = frozenset[int]

SHARDS = 200  # at the most, from as many as there may be trainers
DRAWN = 300


def every_nth(shards: int, _most: int, slots: Collection[int]) -> Dealt:
    """Return the deal of a gang whose width is fixed, by ranks."""
    return {slot: range(rank, shards, len(slots)) for rank, slot in enumerate(sorted(slots))}


def moved(before: Dealt, after: Dealt) -> int:
    """Return how many shards have another slot: so many are copied."""
    owner = {shard: slot for slot, shards in before.items() for shard in shards}
    return sum(owner[shard] != slot for slot, shards in after.items() for shard in shards)


def fewest_moved(before: Dealt, slots: Collection[int]) -> int:
    """Return how many must move, where no slot is to have two more than another in the end."""
    stay = [len(before[slot]) for slot in slots if slot in before]
    shards = sum(map(len, before.values()))
    each, more = divmod(shards, len(slots))
    return shards - sum(min(has, each) for has in stay) - min(more, sum(has > each for has in stay))


def main() -> None:
    """Measure, and print."""
    print(
        f"Parts of the shards that move, on average over all numbers of shards from the most trainers up to {SHARDS};"
    )
    print("in brackets: at the worst by how many shards more than must.\n")
    print("| slots | must | ours | every n-th |")
    print("| --- | ---: | ---: | ---: |")
    for told, most, ways in _changes():
        print(f"| {told} | {' | '.join(_figures(most, ways))} |")


def _changes() -> Iterator[tuple[str, int, list[list[Slots]]]]:
    """Yield what is told of a change, the most trainers, and the ways, each a row of gangs."""
    for widths in ((3, 4), (4, 3), (5, 2), (2, 5), (3, 5, 2, 3)):
        told = " → ".join(map(str, widths))
        yield f"{told} of at most 5", 5, [[frozenset(range(each)) for each in widths]]
    yield "8 → 9 of at most 16", 16, [[frozenset(range(8)), frozenset(range(9))]]
    full = frozenset(range(5))
    yield "one of 5 lost", 5, [[full, full - {each}] for each in full]
    yield "and it comes back", 5, [[full - {each}, full] for each in full]
    yield "a spare for one of 5", 5, [[full, full - {each} | {5}] for each in full]
    yield "another of 5 lost", 5, [[full - {a}, full - {a, b}] for a in full for b in full - {a}]
    yield (
        "another of 5 lost, after a spare took the first one's place",
        5,
        [[full - {a} | {5}, full - {a, b} | {5}] for a in full for b in full - {a}],
    )
    yield "one more or less, of 8, 1 to 3 away", 8, list(_drawn(8, 1, 3))
    yield "one more or less, of 24, 1 to 4 away", 24, list(_drawn(24, 1, 4))
    yield "one more or less, of 24, 10 to 16 away", 24, list(_drawn(24, 10, 16))


def _drawn(most: int, fewest_away: int, most_away: int) -> Iterator[list[Slots]]:
    draw = random.Random(1)  # noqa: S311  # no secret
    for _ in range(DRAWN // most):
        away = draw.sample(range(most), draw.randint(fewest_away, most_away))
        here = frozenset(range(most)) - set(away)
        yield [here, here ^ {draw.randrange(most)}]


def _figures(most: int, ways: list[list[Slots]]) -> Iterator[str]:
    """Yield the part that must move, and those that do, each with how many shards it is more at the worst."""
    ours, must = (
        _measured(deal, most, ways),
        mean(fewest / shards for shards, _, fewest in _measured(deal, most, ways)),
    )
    yield f"{must:.0%}"
    for found in (ours, _measured(every_nth, most, ways)):
        parts = mean(moves / shards for shards, moves, _ in found)
        yield f"{parts:.0%} (+{max(moves - fewest for _, moves, fewest in found)})"


def _measured(by: Deal, most: int, ways: list[list[Slots]]) -> list[tuple[int, int, int]]:
    """Return for each number of shards and each way: the shards, how many moved, how many had to."""
    found = []
    for shards in range(most, SHARDS + 1):
        for way in ways:
            steps = [(by(shards, most, before), by(shards, most, after), after) for before, after in pairwise(way)]
            moves = sum(moved(before, after) for before, after, _ in steps)
            found.append((shards, moves, sum(fewest_moved(before, slots) for before, _, slots in steps)))
    return found


if __name__ == "__main__":
    main()
