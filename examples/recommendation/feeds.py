"""Ratings as the network takes them: arrays of numbers, and batches of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ratings import BadData, Data, Rating, read

WORDS = 8  # of a title; the rest are left out
GENRES = 6
FEATURES = ("gender", "age", "occupation")
LARGE = 4096  # ratings in a batch that nothing is learned from


# Rows of every feature's table: the layers must be the same in a pserver, which sees no data.
FEATURE_ROWS = 32


@dataclass(frozen=True)
class Sizes:
    """How many rows the tables on the pservers have; those need not know: a row comes when it is asked for."""

    users: int = 1
    movies: int = 1
    words: int = 1


class Feeds:
    """The users and movies of a directory in numbers; 0 is no word, no genre."""

    def __init__(self, data: Data) -> None:
        occupations = _numbers((user.occupation for user in data.users.values()), first=0)
        words = _numbers(word for movie in data.movies.values() for word in movie.words)
        genres = _numbers(genre for movie in data.movies.values() for genre in movie.genres)
        if max(len(occupations), len(genres) + 1) > FEATURE_ROWS:
            found = f"{len(occupations)} occupations and {len(genres)} genres"
            raise BadData(f"there are {found}: expected no more than {FEATURE_ROWS} and {FEATURE_ROWS - 1}")
        self.sizes = Sizes(max(data.users) + 1, max(data.movies) + 1, len(words) + 1)
        self._users = np.zeros((self.sizes.users, len(FEATURES)), "int64")
        for number, user in data.users.items():
            self._users[number] = (user.gender, user.age, occupations[user.occupation])
        self._titles = np.zeros((self.sizes.movies, WORDS), "int64")
        self._genres = np.zeros((self.sizes.movies, GENRES), "int64")
        for number, movie in data.movies.items():
            _fill(self._titles[number], [words[word] for word in movie.words])
            _fill(self._genres[number], [genres[genre] for genre in movie.genres])

    def feed(self, ratings: np.ndarray) -> dict[str, np.ndarray]:
        """Return what the network takes for rows of user, movie, score."""
        users, movies = ratings[:, 0].astype("int64"), ratings[:, 1].astype("int64")
        features = {name: self._users[users, at : at + 1] for at, name in enumerate(FEATURES)}
        return {
            "user_id": users[:, None],
            **features,
            "movie_id": movies[:, None],
            "title": self._titles[movies],
            "genres": self._genres[movies],
            "rating": ratings[:, 2:].astype("float32"),
        }

    def batches(self, ratings: np.ndarray, size: int, seed: int) -> Iterator[dict[str, np.ndarray]]:
        """Yield all ratings once, in an order that follows from the seed."""
        order = np.random.RandomState(seed).permutation(len(ratings))
        for begin in range(0, len(order), size):
            yield self.feed(ratings[order[begin : begin + size]])


class Shard:
    """One trainer's data."""

    def __init__(self, directory: Path) -> None:
        data = read(directory)
        self.feeds = Feeds(data)
        self.learned = rows(data.ratings, f"to learn from in {directory}")
        self.held_out = rows(data.held_out or [], f"held out in {directory}: make_data.py divides them")

    def batches(self, number: int, size: int, rank: int) -> Iterator[dict[str, np.ndarray]]:
        """Yield what is learned from in a pass, in an order of the pass's and the trainer's own."""
        return self.feeds.batches(self.learned, size, seed=1000 * number + rank)

    def held_out_batches(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield what is held out, as it comes."""
        for begin in range(0, len(self.held_out), LARGE):
            yield self.feeds.feed(self.held_out[begin : begin + LARGE])


def rows(ratings: Sequence[Rating], what: str) -> np.ndarray:
    """Return ratings as rows of user, movie, score."""
    if not ratings:
        raise BadData(f"there are no ratings {what}: expected some in every shard")
    return np.array([(each.user, each.movie, each.score) for each in ratings])


def _numbers(words: Iterable[str], first: int = 1) -> dict[str, int]:
    return {word: number for number, word in enumerate(sorted(set(words)), start=first)}


def _fill(row: np.ndarray, numbers: list[int]) -> None:
    numbers = numbers[: len(row)]
    row[: len(numbers)] = numbers
