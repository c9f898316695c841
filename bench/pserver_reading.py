"""How a pserver finds its numbers of the layers in the parts of other ones, as Paddle's source reads: for many sizes.

`python -m bench.pserver_reading`: prints where any would read others than its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

MOST, PSERVERS = 300, range(1, 9)


def cut(numbers: int, pservers: int) -> list[range]:
    """Return what each pserver has, and saves."""
    each = numbers // pservers + 1
    return [range(min(each * rank, numbers), min(each * (rank + 1), numbers)) for rank in range(pservers)]


def read(parts: list[range], numbers: int, rank: int, pservers: int) -> list[int]:
    """Return what a pserver reads: `MemoryDenseTable::Load` counts on with each part that it has read."""
    wanted, each = len(cut(numbers, pservers)[rank]), numbers // len(parts) + 1
    begin = (numbers // pservers + 1) * rank
    found: list[int] = []
    for at in range(begin // each, min((begin + wanted) // each, len(parts) - 1) + 1):
        skip = begin - at * each
        taken = parts[at][skip : skip + wanted - len(found)]
        found, begin = [*found, *taken], begin + len(taken)
    return found if wanted else []


def wrong() -> Iterator[tuple[int, int, int]]:
    for numbers, made, pservers in product(range(1, MOST), PSERVERS, PSERVERS):
        own, parts = cut(numbers, pservers), cut(numbers, made)
        if any(read(parts, numbers, rank, pservers) != [*own[rank]] for rank in range(pservers)):
            yield numbers, made, pservers


def main() -> None:
    """Look, and print."""
    found = [*wrong()]
    print(f"{MOST - 1} sizes, {len(PSERVERS)} by {len(PSERVERS)} pservers: {len(found)} wrong {found[:9]}")


if __name__ == "__main__":
    main()
