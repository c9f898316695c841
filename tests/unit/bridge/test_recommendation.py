"""The recommendation example's programs, where they need no Paddle: what is not gone on from, what is advised."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from launcher.bridge.failure import BAD_DATA, TrainingFailure
from launcher.bridge.fleet_role import FleetRole

EXAMPLE = Path(__file__).parents[3] / "examples" / "recommendation"
NAMES = ("ratings", "train", "infer")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    """Return the example's modules; they import each other by plain names, as programs in one directory do."""
    before = {name: sys.modules.pop(name, None) for name in NAMES}
    monkeypatch.setattr(sys, "path", [str(EXAMPLE), *sys.path])
    yield {name: importlib.import_module(name) for name in NAMES}
    for name, module in before.items():
        del sys.modules[name]
        if module:
            sys.modules[name] = module


class Guess(float):
    """A rating that the network guesses, with as much of an array as is asked for."""

    def clip(self, least: float, most: float) -> Guess:
        return self if math.isnan(self) else Guess(min(max(self, least), most))

    def __sub__(self, other: float) -> Guess:
        return Guess(float(self) - other)

    def __pow__(self, _two: object, _modulo: None = None) -> Guess:
        return Guess(float(self) * float(self))

    def sum(self) -> float:
        return self


def rmse(example: dict[str, ModuleType], guess: float, number: int) -> float:
    session = SimpleNamespace(role=FleetRole(), predict=lambda *_: [Guess(guess)])
    shard = SimpleNamespace(held_out=[1], held_out_batches=lambda: [{"rating": 3.0}])
    found: float = example["train"]._rmse(session, None, shard, number)
    return found


def test_a_pass_whose_held_out_error_is_no_number_is_not_saved(example: dict[str, ModuleType]) -> None:
    assert rmse(example, 7.0, 8001) == 2.0  # of a guess of 5, the best there is
    with pytest.raises(TrainingFailure) as caught:
        rmse(example, math.nan, 8002)
    assert caught.value.code == BAD_DATA
    assert str(caught.value) == "the held-out RMSE is nan after pass 8002: is the learning rate too high?"


def test_what_is_advised_was_rated_nowhere_in_the_data(example: dict[str, ModuleType]) -> None:
    ratings = example["ratings"]
    movies = {number: ratings.Movie(f"{number}", (), ()) for number in (4, 3, 2, 1)}
    learned = [ratings.Rating(7, 1, 5.0), ratings.Rating(8, 4, 1.0)]
    unrated = example["infer"]._unrated
    assert unrated(ratings.Data({}, movies, learned, None), 7) == [2, 3, 4]
    assert unrated(ratings.Data({}, movies, learned, [ratings.Rating(7, 3, 2.0)]), 7) == [2, 4]
