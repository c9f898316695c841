"""Ratings that follow from hidden tastes: something to learn where MovieLens cannot be had. No numpy.

A taste is four numbers. A user's comes from gender, age, occupation and a whim; a movie's from its genres, the words
of its title and a whim. Some users rate higher than others, some movies are better, and few movies are rated often.
"""

from __future__ import annotations

import random

from ratings import AGES, BadData, Data, Movie, Rating, User, movie_of

TASTE = 4
# fmt: off
GENRES = (
    "Action", "Adventure", "Comedy", "Crime", "Drama", "Fantasy", "Horror", "Musical", "Romance", "Thriller", "War",
    "Western",
)
SYLLABLES = ("ka", "to", "mi", "ra", "len", "so", "vi", "du", "na", "per", "el", "go", "sha", "bri", "os", "ta")
# fmt: on
OCCUPATIONS = 21
WORDS = 400
NOISE = 0.45


class World:
    """What is behind the ratings; all of it follows from the seed."""

    def __init__(self, users: int, movies: int, seed: int) -> None:
        self._numbers = random.Random(seed)  # noqa: S311  # nothing is secret here
        self.users: dict[int, User] = {}
        self.movies: dict[int, Movie] = {}
        self._of_user: dict[int, list[float]] = {}
        self._of_movie: dict[int, list[float]] = {}
        self._make_users(users)
        self._make_movies(movies)
        self._kind = {number: self._numbers.gauss(0.0, 0.3) for number in self.users}
        self._good = {number: self._numbers.gauss(0.0, 0.4) for number in self.movies}

    def _make_users(self, count: int) -> None:
        genders, ages = [[self._taste(0.5) for _ in range(many)] for many in (2, len(AGES) + 1)]
        occupations = [self._taste(0.5) for _ in range(OCCUPATIONS)]
        for number in range(1, count + 1):
            gender, age, occupation = self._below(2), self._below(len(ages)), self._below(OCCUPATIONS)
            self.users[number] = User(gender, age, str(occupation))
            self._of_user[number] = _sum([genders[gender], ages[age], occupations[occupation], self._taste(0.6)])

    def _make_movies(self, count: int) -> None:
        by_word = {self._word(): self._taste(0.4) for _ in range(WORDS)}
        by_genre = {name: self._taste(1.0) for name in GENRES}
        words = list(by_word)
        for number in range(1, count + 1):
            title = [words[self._below(len(words))] for _ in range(1 + self._below(4))]
            genres = sorted({GENRES[self._below(len(GENRES))] for _ in range(1 + self._below(3))})
            self.movies[number] = movie_of(f"{' '.join(title).title()} ({1930 + self._below(90)})", genres)
            tastes = [by_genre[genre] for genre in genres] + [by_word[word] for word in sorted(set(title))]
            self._of_movie[number] = _sum([*tastes, self._taste(0.4)])

    def rating(self) -> Rating:
        """Return one more rating."""
        user = 1 + self._below(len(self.users))
        movie = 1 + int(len(self.movies) * self._numbers.random() ** 2)
        liking = sum(a * b for a, b in zip(self._of_user[user], self._of_movie[movie]))  # noqa: B905  # Python 3.8
        score = 3.4 + 0.35 * liking + self._kind[user] + self._good[movie] + self._numbers.gauss(0.0, NOISE)
        return Rating(user, movie, float(min(5, max(1, round(score)))))

    def _below(self, end: int) -> int:
        return int(self._numbers.random() * end)

    def _taste(self, spread: float) -> list[float]:
        return [self._numbers.gauss(0.0, spread) for _ in range(TASTE)]

    def _word(self) -> str:
        return "".join(SYLLABLES[self._below(len(SYLLABLES))] for _ in range(2 + self._below(2)))


def make(users: int, movies: int, ratings: int, seed: int) -> Data:
    """Return that many of them, the same for the same seed; nobody rates a movie twice."""
    if min(users, movies, ratings) < 1 or 4 * ratings > users * movies:
        raise BadData(
            f"{ratings} ratings by {users} users of {movies} movies: expected a quarter of the pairs at most"
        )
    world = World(users, movies, seed)
    found: dict[tuple[int, int], Rating] = {}
    while len(found) < ratings:
        rating = world.rating()
        found.setdefault((rating.user, rating.movie), rating)
    return Data(world.users, world.movies, list(found.values()), None)


def _sum(tastes: list[list[float]]) -> list[float]:
    return [sum(numbers) for numbers in zip(*tastes)]  # noqa: B905  # Python 3.8
