"""Ratings made up, where MovieLens cannot be had: those of `launcher.dataset`, as this example has its data."""

from __future__ import annotations

import sys
from pathlib import Path

from ratings import FORMS, BadData, Data, Rating

# In a checkout the launcher's package is two directories up; an image has it on PYTHONPATH.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from launcher.dataset.problem import DatasetMisuse
from launcher.dataset.ratings import World


def make(users: int, movies: int, ratings: int, seed: int) -> Data:
    """Return that many of them, the same for the same seed; nobody rates a movie twice."""
    form, world = FORMS["MovieLens-1M"], World(users, movies, seed)
    try:
        found = [Rating(user, movie, float(score)) for user, movie, score in world.ratings(ratings)]
    except DatasetMisuse as error:
        raise BadData(str(error)) from None
    about = [line.split("::") for line in (*world.users, *world.movies)]
    return Data(
        {int(columns[0]): form.user(columns) for columns in about[:users]},
        {int(columns[0]): form.movie(columns) for columns in about[users:]},
        found,
        None,
    )
