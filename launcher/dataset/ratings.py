"""Ratings with something to learn in them, for whoever has no data yet: lines of user,movie,rating.

No I/O here.
"""

from __future__ import annotations

import random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES, USERS, MOVIES, TASTES, NOISE, SEED = 24_000, 120, 80, 4, 0.3, 1


def ratings(samples: int = SAMPLES) -> Iterator[str]:
    """Yield ratings that follow from hidden tastes, and some noise; the same ones each time."""
    numbers = random.Random(SEED)  # noqa: S311  # nothing is secret here
    tastes = [[numbers.gauss(0.0, 0.7) for _ in range(TASTES)] for _ in range(USERS + MOVIES)]
    for _ in range(samples):
        user, movie = numbers.randrange(USERS), numbers.randrange(MOVIES)
        liking = sum(a * b for a, b in zip(tastes[user], tastes[USERS + movie]))  # noqa: B905  # Python 3.8
        yield f"{user},{movie},{3 + liking + numbers.gauss(0.0, NOISE):.2f}"
