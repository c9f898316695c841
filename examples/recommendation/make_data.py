"""Makes a job's shards: of ratings with something to learn in them, or of a directory of MovieLens' own.

Each shard has all users and movies, its part of the ratings to learn from, and its part of those held out, in
MovieLens-1M's form: users.dat, movies.dat, ratings.dat, held_out.dat. No numpy.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import ratings as reading
from ratings import AGES, GENDERS, BadData, Data, Movie, Rating, User
from world import make

LAYOUTS = {
    "rank": lambda directory, rank: directory / str(rank) / "data",
    "data": lambda directory, rank: directory / "data" / str(rank),
    "here": lambda directory, _rank: directory / "data",
}


def main(words: Sequence[str] | None = None) -> int:
    """Write the shards and return 0, 65 where there is nothing to make them of, 74 where they cannot be written."""
    given = _parse(words)
    try:
        whole = (
            reading.read(given.source, given.fold)
            if given.source
            else make(given.users, given.movies, given.ratings, given.seed)
        )
        data = divide(whole, given.held_out, given.seed)
        made = f"{len(data.ratings)} ratings to learn from and {len(data.held_out or ())} held out"
        if min(len(data.ratings), len(data.held_out or ())) < given.shards:
            raise BadData(f"{made}: expected some of each for every one of {given.shards} shards; nothing is written")
        for rank in range(given.shards):
            write(LAYOUTS[given.layout](given.directory, rank), shard(data, rank, given.shards))
    except BadData as error:
        sys.stderr.write(f"make_data: {error}\n")
        return 65
    except OSError as error:
        sys.stderr.write(f"make_data: {error.filename or given.directory}: {error.strerror}\n")
        return 74
    print(f"{made}, in {given.shards} shards")
    return 0


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, help="the job's directory, JOB_PATH/JOB_NAME")
    parser.add_argument("--from", dest="source", type=Path, help="a directory of MovieLens-1M or -100K")
    parser.add_argument(
        "--fold", type=int, default=0, choices=range(6), help="of MovieLens-100K: 1 for u1.base, u1.test"
    )
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument(
        "--layout", choices=LAYOUTS, default="rank", help="<rank>/data, data/<rank>, or data alone for one shard"
    )
    parser.add_argument("--held-out", type=float, default=0.2, help="which part is not learned from (0.2)")
    parser.add_argument("--users", type=int, default=900, help="of those that are made up; so the next two")
    parser.add_argument("--movies", type=int, default=700)
    parser.add_argument("--ratings", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(words)
    if given.layout == "here":
        given.shards = 1
    if given.shards < 1 or not 0 < given.held_out < 1:
        parser.error("expected 1 shard or more, and a part between 0 and 1 to hold out")
    return given


def divide(data: Data, part: float, seed: int) -> Data:
    """Return the data with a part of its ratings held out, the same for the same seed; what is divided stays so."""
    mixed = list(data.ratings)
    random.Random(seed).shuffle(mixed)  # noqa: S311  # nothing is secret here
    if data.held_out is not None:
        return Data(data.users, data.movies, mixed, data.held_out)
    held_out = round(len(mixed) * part)
    return Data(data.users, data.movies, mixed[held_out:], mixed[:held_out])


def shard(data: Data, rank: int, shards: int) -> Data:
    """Return what one trainer is given."""
    return Data(data.users, data.movies, data.ratings[rank::shards], (data.held_out or [])[rank::shards])


def write(directory: Path, data: Data) -> None:
    """Write MovieLens-1M's files."""
    directory.mkdir(parents=True, exist_ok=True)
    ages = (1, *AGES)

    def user(number: int, it: User) -> str:
        return f"{number}::{GENDERS[it.gender]}::{ages[it.age]}::{it.occupation}::00000"

    def movie(number: int, it: Movie) -> str:
        return f"{number}::{it.title}::{'|'.join(it.genres)}"

    _lines(directory / "users.dat", (user(*each) for each in sorted(data.users.items())))
    _lines(directory / "movies.dat", (movie(*each) for each in sorted(data.movies.items())))
    _lines(directory / "ratings.dat", map(_rating, data.ratings))
    _lines(directory / "held_out.dat", map(_rating, data.held_out or ()))


def _rating(it: Rating) -> str:
    return f"{it.user}::{it.movie}::{it.score:g}::0"


def _lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="latin-1", errors="replace")


if __name__ == "__main__":
    sys.exit(main())
