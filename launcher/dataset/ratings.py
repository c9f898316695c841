"""Made-up ratings for a first training without data; they follow hidden tastes, and are the same for the same seed.

A taste is four numbers. A user's comes from gender, age, occupation and a whim; a movie's from its genres, the words
of its title and a whim. Some users rate higher than others, some movies are better, and few movies are rated often.

No I/O here.
"""

from __future__ import annotations

import random

from launcher.dataset.problem import DatasetMisuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

USERS, MOVIES, SAMPLES, SEED = 900, 700, 60_000, 1
_FULL = 4  # at most one of so many pairs of user and movie is rated
TASTE = 4
NOISE = 0.45
OCCUPATIONS = 21
_WORDS = 400
GENDERS = ("F", "M")
AGES = (1, 18, 25, 35, 45, 50, 56)  # MovieLens-1M's: each by its youngest
# fmt: off
GENRES = (
    "Action", "Adventure", "Comedy", "Crime", "Drama", "Fantasy", "Horror", "Musical", "Romance", "Thriller", "War",
    "Western",
)
SYLLABLES = ("ka", "to", "mi", "ra", "len", "so", "vi", "du", "na", "per", "el", "go", "sha", "bri", "os", "ta")
# fmt: on


class World:
    """The users and movies behind the ratings, as lines in MovieLens-1M's form, and their tastes."""

    def __init__(self, users: int, movies: int, seed: int = SEED) -> None:
        self._numbers = random.Random(seed)  # noqa: S311  # nothing is secret here
        self.users: list[str] = []
        self.movies: list[str] = []
        self._of_user: list[list[float]] = []
        self._of_movie: list[list[float]] = []
        self._make_users(users)
        self._make_movies(movies)
        self._kind = [self._numbers.gauss(0.0, 0.3) for _ in self.users]
        self._good = [self._numbers.gauss(0.0, 0.4) for _ in self.movies]

    def ratings(self, count: int) -> Iterator[tuple[int, int, int]]:
        """Yield users, movies and scores, all counted from 1; no user rates a movie twice."""
        if min(len(self.users), len(self.movies), count) < 1 or count * _FULL > len(self.users) * len(self.movies):
            raise DatasetMisuse(
                f"{count} ratings by {len(self.users)} users of {len(self.movies)} movies: "
                "expected at most a quarter of the pairs"
            )
        rated = bytearray(len(self.users) * len(self.movies))
        while count:
            user, movie, score = self._rating()
            pair = user * len(self.movies) + movie
            if not rated[pair]:
                rated[pair] = 1
                count -= 1
                yield 1 + user, 1 + movie, score

    def _rating(self) -> tuple[int, int, int]:
        user = self._below(len(self.users))
        movie = int(len(self.movies) * self._numbers.random() ** 2)
        liking = sum(a * b for a, b in zip(self._of_user[user], self._of_movie[movie]))  # noqa: B905  # Python 3.8
        score = 3.4 + 0.35 * liking + self._kind[user] + self._good[movie] + self._numbers.gauss(0.0, NOISE)
        return user, movie, min(5, max(1, round(score)))

    def _make_users(self, count: int) -> None:
        genders, ages = [[self._taste(0.5) for _ in range(many)] for many in (len(GENDERS), len(AGES))]
        occupations = [self._taste(0.5) for _ in range(OCCUPATIONS)]
        for number in range(1, count + 1):
            gender, age, occupation = self._below(2), self._below(len(ages)), self._below(OCCUPATIONS)
            self.users.append(f"{number}::{GENDERS[gender]}::{AGES[age]}::{occupation}::00000")
            self._of_user.append(_sum([genders[gender], ages[age], occupations[occupation], self._taste(0.6)]))

    def _make_movies(self, count: int) -> None:
        by_word = {self._word(): self._taste(0.4) for _ in range(_WORDS)}
        by_genre = {name: self._taste(1.0) for name in GENRES}
        words = list(by_word)
        for number in range(1, count + 1):
            title = [words[self._below(len(words))] for _ in range(1 + self._below(4))]
            genres = sorted({GENRES[self._below(len(GENRES))] for _ in range(1 + self._below(3))})
            year = 1930 + self._below(90)
            self.movies.append(f"{number}::{' '.join(title).title()} ({year})::{'|'.join(genres)}")
            tastes = [by_genre[genre] for genre in genres] + [by_word[word] for word in sorted(set(title))]
            self._of_movie.append(_sum([*tastes, self._taste(0.4)]))

    def _below(self, end: int) -> int:
        return int(self._numbers.random() * end)

    def _taste(self, spread: float) -> list[float]:
        return [self._numbers.gauss(0.0, spread) for _ in range(TASTE)]

    def _word(self) -> str:
        return "".join(SYLLABLES[self._below(len(SYLLABLES))] for _ in range(2 + self._below(2)))


def world_for(samples: int) -> World:
    """Return a world with room for that many ratings."""
    return World(max(USERS, -(-_FULL * samples // MOVIES)), MOVIES)


def ratings(samples: int = SAMPLES) -> Iterator[str]:
    """Yield lines of user,movie,score."""
    return (f"{user},{movie},{score}" for user, movie, score in world_for(samples).ratings(samples))


def tables(samples: int = SAMPLES) -> dict[str, str]:
    """Return the users and the movies of these ratings, in the form of MovieLens-1M's two files."""
    world = world_for(samples)
    return {"users.dat": _text(world.users), "movies.dat": _text(world.movies)}


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _sum(tastes: list[list[float]]) -> list[float]:
    return [sum(numbers) for numbers in zip(*tastes)]  # noqa: B905  # Python 3.8
