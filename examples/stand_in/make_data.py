"""Makes ratings with something to learn in them, divided into shards: lines of user,movie,rating.

The layouts are the two that a job's directory may have: <rank>/data/ or data/<rank>/.
"""

from __future__ import annotations

import argparse
import random
import runpy
from collections.abc import Iterator, Sequence
from pathlib import Path

CONFIG = Path(__file__).with_name("trainer_config.py")
TASTES = 4
NOISE = 0.3


def main(words: Sequence[str] | None = None) -> None:
    """Write the shards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, help="the job's directory, JOB_PATH/JOB_NAME")
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--samples", type=int, default=24_000, help="in all shards together")
    parser.add_argument("--layout", choices=("rank", "data"), default="rank", help="<rank>/data, or data/<rank>")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(words)
    config = runpy.run_path(str(CONFIG))
    lines = list(ratings(config["users"], config["movies"], given.samples, given.seed))
    for rank in range(given.shards):
        parts = (str(rank), "data") if given.layout == "rank" else ("data", str(rank))
        shard = given.directory.joinpath(*parts)
        shard.mkdir(parents=True, exist_ok=True)
        (shard / "part-00000.csv").write_text("".join(lines[rank :: given.shards]))


def ratings(users: int, movies: int, samples: int, seed: int) -> Iterator[str]:
    """Yield lines of ratings that follow from hidden tastes, and some noise."""
    numbers = random.Random(seed)  # noqa: S311  # nothing is secret here
    tastes = [[numbers.gauss(0.0, 0.7) for _ in range(TASTES)] for _ in range(users + movies)]
    for _ in range(samples):
        user, movie = numbers.randrange(users), numbers.randrange(movies)
        liking = sum(a * b for a, b in zip(tastes[user], tastes[users + movie], strict=True))
        yield f"{user},{movie},{3 + liking + numbers.gauss(0.0, NOISE):.2f}\n"


if __name__ == "__main__":
    main()
