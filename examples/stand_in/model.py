"""The model: a rating is 3 plus the product of a user's and a movie's vector; its config, data, gradient and files.

A config is a Python file that names `users`, `movies`, `dimensions`, `batch_size`, `learning_rate` and `seed`; it may
have a function `before_pass(number)`, which every trainer calls.
"""

from __future__ import annotations

import random
import runpy
import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

MIDDLE = 3.0
HEADER = struct.Struct("<iIQ")  # v1's: format 0, bytes in a value, number of values

NUMBERS = ("users", "movies", "dimensions", "batch_size", "learning_rate", "seed")

Sample = tuple[int, int, float]


def _nothing(number: int) -> None:
    del number


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What a config file says."""

    users: int
    movies: int
    dimensions: int
    batch_size: int
    learning_rate: float
    seed: int
    before_pass: Callable[[int], object] = _nothing

    @property
    def layers(self) -> dict[str, slice]:
        """The parameters' v1-like names, and where each is in the whole."""
        middle, end = self.users * self.dimensions, (self.users + self.movies) * self.dimensions
        return {"___embedding_0__.w0": slice(0, middle), "___embedding_1__.w0": slice(middle, end)}


def read_config(path: str) -> Config:
    """Return what the config file says; it is a program, as v1's was."""
    if not Path(path).is_file():
        sys.exit(f"paddle train: --config={path}: there is no such file")
    said = runpy.run_path(path)
    for name in NUMBERS:
        if not isinstance(said.get(name), int | float) or said[name] < 0:
            sys.exit(f"paddle train: {path} says {name} = {said.get(name)!r}: expected a number")
    numbers = {name: said[name] for name in NUMBERS}
    return Config(**numbers, before_pass=said.get("before_pass", _nothing))


def read_samples(directory: Path, config: Config) -> list[Sample]:
    """Return the samples `user,movie,rating` of every CSV file of a directory, in the order of their names."""
    files = sorted(directory.glob("*.csv"))
    if not files:
        sys.exit(f"paddle train: no *.csv in {directory.absolute()}: expected lines of user,movie,rating")
    return [
        _sample(line, f"{file}:{number}", config)
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), start=1)
    ]


def _sample(line: str, where: str, config: Config) -> Sample:
    try:
        user, movie, rating = line.split(",")
        sample = (int(user), int(movie), float(rating))
    except ValueError:
        sys.exit(f"paddle train: {where}: {line[:60]!r}: expected user,movie,rating")
    if not (0 <= sample[0] < config.users and 0 <= sample[1] < config.movies):
        sys.exit(f"paddle train: {where}: {line[:60]!r}: expected {config.users} users and {config.movies} movies")
    return sample


def initial(config: Config) -> array[float]:
    """Return the first values, the same for the same seed."""
    numbers = random.Random(config.seed)  # noqa: S311  # nothing is secret here
    return array("d", (numbers.gauss(0.0, 0.4) for _ in range((config.users + config.movies) * config.dimensions)))


def gradient(config: Config, values: Sequence[float], batch: Sequence[Sample]) -> tuple[float, array[float]]:
    """Return the sum of the square errors of a batch, and of their slopes: v1 summed, too."""
    slopes = array("d", bytes(8 * len(values)))
    cost = 0.0
    size = config.dimensions
    for user, movie, rating in batch:
        a, b = user * size, (config.users + movie) * size
        guess = MIDDLE
        for k in range(size):
            guess += values[a + k] * values[b + k]
        error = guess - rating
        cost += error * error
        for k in range(size):
            slopes[a + k] += 2 * error * values[b + k]
            slopes[b + k] += 2 * error * values[a + k]
    return cost, slopes


def save(directory: Path, config: Config, values: array[float]) -> None:
    """Save one pass; `done` stands in it only while all the rest does."""
    directory.mkdir(parents=True, exist_ok=True)
    done = directory / "done"
    done.unlink(missing_ok=True)
    for name, part in config.layers.items():
        layer = values[part]
        (directory / name).write_bytes(HEADER.pack(0, layer.itemsize, len(layer)) + layer.tobytes())
    done.touch()


def load(directory: Path, config: Config) -> array[float]:
    """Return the values that a pass saved."""
    if not (directory / "done").exists():
        sys.exit(f"paddle train: {directory} is not a complete pass: it has no `done`")
    values = array("d")
    for name, part in config.layers.items():
        content = (directory / name).read_bytes()
        size = part.stop - part.start
        if content[: HEADER.size] != HEADER.pack(0, 8, size) or len(content) != HEADER.size + 8 * size:
            sys.exit(f"paddle train: {directory / name} was not saved by this config: expected {size} values")
        values.frombytes(content[HEADER.size :])
    return values
