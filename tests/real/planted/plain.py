"""A training in plain Python: a line through points, each trainer with points of its own; sums by `launcher.here`."""

from __future__ import annotations

import json
import random
from pathlib import Path

from launcher import here

PASSES, STEPS, POINTS, RATE = 5, 20, 40, 0.05


def points(rank: int) -> list[tuple[float, float]]:
    dice = random.Random(rank)  # noqa: S311  # no secret
    return [(x, 3.0 * x - 1.0 + dice.gauss(0.0, 0.1)) for x in (dice.uniform(-1.0, 1.0) for _ in range(POINTS))]


def slope(line: list[float], some: list[tuple[float, float]]) -> list[float]:
    """Return the slope of the mean square by both numbers of the line, and that mean."""
    off = [(line[0] * x + line[1] - y, x) for x, y in some]
    sums = [sum(each * x for each, x in off), sum(each for each, _ in off), sum(each * each for each, _ in off)]
    return [value / len(some) for value in sums]


def together(name: str, step: int, mine: list[float]) -> list[float]:
    """Return the mean of all trainers' numbers; a key is used again only when everybody has read it."""
    here.share(f"slope-{step % 2}", mine)
    here.barrier(name)
    found = [here.get(f"slope-{step % 2}", rank=rank) for rank in range(here.trainers())]
    return [sum(each) / len(each) for each in zip(*found)]  # noqa: B905  # Python 3.8


def main() -> None:
    some = points(here.rank())
    start, directory = here.resume()
    line = json.loads(Path(directory, "line.json").read_text()) if directory else [0.0, 0.0]
    for number in range(start, PASSES):
        for step in range(STEPS):
            *down, cost = together(f"step-{number}-{step}", step, slope(line, some))
            line = [each - RATE * by for each, by in zip(line, down)]  # noqa: B905  # Python 3.8
            here.progress(pass_=number, step=step, cost=cost)
        print(f" Pass={number} AvgCost={cost:.6g}", flush=True)
        with here.saving(number) as directory:
            if directory:
                Path(directory, "line.json").write_text(json.dumps(line))


if __name__ == "__main__":
    main()
