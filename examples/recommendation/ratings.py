"""Readers of ratings with what is known of users and movies: MovieLens-1M, MovieLens-100K, RecBole's form of it, and
what a split Job without an input writes.

No numpy. A line that cannot be right is told with its file and number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

AGES = (18, 25, 35, 45, 50, 56)  # MovieLens-1M has seven ages, each by its youngest
GENDERS = ("F", "M")
YEAR = re.compile(r"\s*\(\d{4}\)\s*$")
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# fmt: off
GENRES_100K = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama", "Fantasy",
    "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
)
# fmt: on


class BadData(Exception):
    """A file, a line of it, and what was expected there."""


@dataclass(frozen=True)
class User:
    """A user: gender and age by number, the occupation as it is written."""

    gender: int
    age: int
    occupation: str


@dataclass(frozen=True)
class Movie:
    """A movie: its title's words without the year, and its genres."""

    title: str
    words: tuple[str, ...]
    genres: tuple[str, ...]


@dataclass(frozen=True)
class Rating:
    """What one user gave one movie."""

    user: int
    movie: int
    score: float


@dataclass(frozen=True)
class Data:
    """All that a directory holds; `held_out` is None where it has not been divided."""

    users: dict[int, User]
    movies: dict[int, Movie]
    ratings: list[Rating]
    held_out: list[Rating] | None


@dataclass(frozen=True)
class Form:
    """One way to write it all: the files, how a line is divided, and what its columns mean."""

    users: str
    movies: str
    ratings: str
    held_out: str
    between: tuple[str, str, str]  # columns of users, of movies, of ratings
    header: bool
    user: Callable[[Sequence[str]], User]
    movie: Callable[[Sequence[str]], Movie]
    encoding: str = "latin-1"
    sign: str = ""  # the files that tell it, where the users' do not
    apart: int = 0  # each so many-th rating is held out, where all are in one file


def age_of(years: str) -> int:
    """Return the number of the age, from 0."""
    return sum(int(years) >= youngest for youngest in AGES)


def movie_of(title: str, genres: Sequence[str]) -> Movie:
    """Return a movie by its title, with or without the year."""
    plain = YEAR.sub("", title)
    return Movie(title, tuple(WORD.findall(plain.lower())), tuple(genre for genre in genres if genre))


def _flags(columns: Sequence[str]) -> list[str]:
    return [genre for genre, flag in zip(GENRES_100K, columns) if flag == "1"]  # noqa: B905  # Python 3.8


def _user_1m(columns: Sequence[str]) -> User:
    return User(GENDERS.index(columns[1]), age_of(columns[2]), columns[3])


def _movie_1m(columns: Sequence[str]) -> Movie:
    return movie_of(columns[1], columns[2].split("|"))


FORMS = {
    "a split": Form(
        users="users.dat",
        movies="movies.dat",
        ratings="part-*",
        held_out="",
        between=("::", "::", ","),
        header=False,
        user=_user_1m,
        movie=_movie_1m,
        sign="part-*",
        apart=5,
    ),
    "MovieLens-1M": Form(
        users="users.dat",
        movies="movies.dat",
        ratings="ratings.dat",
        held_out="held_out.dat",
        between=("::", "::", "::"),
        header=False,
        user=_user_1m,
        movie=_movie_1m,
    ),
    "MovieLens-100K": Form(
        users="u.user",
        movies="u.item",
        ratings="u.data",
        held_out="",
        between=("|", "|", "\t"),
        header=False,
        user=lambda c: User(GENDERS.index(c[2]), age_of(c[1]), c[3]),
        movie=lambda c: movie_of(c[1], _flags(c[5:24])),
    ),
    "RecBole": Form(
        users="*.user",
        movies="*.item",
        ratings="*.inter",
        held_out="",
        between=("\t", "\t", "\t"),
        header=True,
        user=lambda c: User(GENDERS.index(c[2]), age_of(c[1]), c[3]),
        movie=lambda c: movie_of(c[1], c[3].split(" ")),
        encoding="utf-8",
    ),
}


def read(directory: Path, fold: int = 0) -> Data:
    """Return what a directory holds, in whichever form; a fold is one of MovieLens-100K's own five divisions."""
    form = _form(directory)
    ratings, held_out = (f"u{fold}.base", f"u{fold}.test") if fold else (form.ratings, form.held_out)
    users = _by_number(directory, form.users, form.between[0], form, form.user)
    movies = _by_number(directory, form.movies, form.between[1], form, form.movie)

    def rated(name: str) -> list[Rating]:
        return list(_ratings(directory, name, form, users, movies))

    if form.apart:  # in each file by itself: another trainer, with other files beside it, holds out the same
        found = [rated(path.name) for path in sorted(directory.glob(ratings))]
        learned = [each for part in found for number, each in enumerate(part) if number % form.apart]
        return Data(users, movies, learned, [each for part in found for each in part[:: form.apart]])
    divided = held_out and (fold or (directory / held_out).exists())
    return Data(users, movies, rated(ratings), rated(held_out) if divided else None)


def _form(directory: Path) -> Form:
    for form in FORMS.values():
        if any(directory.glob(form.sign or form.users)):
            return form
    wanted = ", ".join(f"{form.sign or form.users} ({name})" for name, form in FORMS.items())
    raise BadData(f"{directory} holds no ratings that are known here: expected one of {wanted}")


def _by_number(directory: Path, name: str, between: str, form: Form, made: Callable[[Sequence[str]], object]) -> dict:
    found = {}
    for where, columns in _lines(directory, name, between, form):
        try:
            found[int(columns[0])] = made(columns)
        except (ValueError, IndexError):
            raise BadData(f"{where}: {between.join(columns)[:60]!r}: this is no line of {name}") from None
    return found


def _ratings(
    directory: Path, name: str, form: Form, users: dict[int, User], movies: dict[int, Movie]
) -> Iterator[Rating]:
    between = form.between[2]
    for where, columns in _lines(directory, name, between, form):
        try:
            rating = Rating(int(columns[0]), int(columns[1]), float(columns[2]))
        except (ValueError, IndexError):
            said = f"{where}: {between.join(columns)[:60]!r}"
            raise BadData(f"{said}: expected user{between}movie{between}score") from None
        if not 0.5 <= rating.score <= 5:
            raise BadData(f"{where}: the score is {rating.score:g}: expected 0.5 to 5")
        if rating.user not in users or rating.movie not in movies:
            who = f"user {rating.user}" if rating.user not in users else f"movie {rating.movie}"
            raise BadData(f"{where}: {who} is not in {form.users if who.startswith('user') else form.movies}")
        yield rating


def _lines(directory: Path, name: str, between: str, form: Form) -> Iterator[tuple[str, list[str]]]:
    """Yield where each line is, and its columns; the header, and empty lines, are left out."""
    paths = sorted(directory.glob(name))
    if not paths:
        raise BadData(f"{directory} has no {name}")
    for path in paths:
        with path.open(encoding=form.encoding) as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip() and not (form.header and number == 1):
                    yield f"{path}:{number}", line.rstrip("\r\n").split(between)
