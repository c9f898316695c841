"""The prepared reviews as the networks take them: a row of word numbers each, and batches of rows.

0 is no word, after a review's last one; 1 is a word that is not in the dictionary.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from launcher.bridge.failure import BAD_DATA, TrainingFailure
from launcher.bridge.fleet_role import FleetRole

PREPARED = Path(__file__).resolve().parent / "data" / "prepared"
LENGTH = 64  # words of a review that are read; all rows are as long
UNKNOWN = 1
BATCH = 128


@dataclass(frozen=True)
class Part:
    """Reviews by row: numbers of words, and 1 for a positive one, 0 for a negative one."""

    words: np.ndarray
    label: np.ndarray

    def batches(self, order: np.ndarray) -> Iterator[dict[str, np.ndarray]]:
        """Yield these rows in this order."""
        for begin in range(0, len(order), BATCH):
            rows = order[begin : begin + BATCH]
            yield {"words": self.words[rows], "label": self.label[rows]}


@dataclass(frozen=True)
class Reviews:
    """What is learned from, what is held out, and how many numbers words have."""

    train: Part
    test: Part
    rows: int


def data() -> Reviews:
    """Return what preprocess.sh has prepared beside this file."""
    numbers = {}
    for at, line in enumerate(_lines("dict.txt"), start=UNKNOWN + 1):
        numbers[line.partition("\t")[0]] = at
    return Reviews(_part("train.txt", numbers), _part("test.txt", numbers), len(numbers) + UNKNOWN + 1)


def train(reviews: Reviews, number: int, role: FleetRole) -> Iterator[dict[str, np.ndarray]]:
    """Yield what this trainer learns from in a pass: every pod has all reviews, each trainer takes its share."""
    order = np.random.RandomState(1 + number).permutation(len(reviews.train.label))
    return reviews.train.batches(order[role.rank :: role.trainers])


def test(reviews: Reviews) -> Iterator[dict[str, np.ndarray]]:
    """Yield what is held out."""
    return reviews.test.batches(np.arange(len(reviews.test.label)))


def _part(name: str, numbers: dict[str, int]) -> Part:
    lines = list(_lines(name))
    words, label = np.zeros((len(lines), LENGTH), "int64"), np.zeros((len(lines), 1), "int64")
    for row, line in enumerate(lines):
        kind, _, text = line.partition("\t")
        known = [numbers.get(word, UNKNOWN) for word in text.split()[:LENGTH]]
        if kind not in ("0", "1") or not known:
            raise TrainingFailure(
                BAD_DATA, f"{PREPARED / name}:{row + 1}: {line[:40]!r}: expected 0 or 1, a tab and words"
            )
        words[row, : len(known)] = known
        label[row] = int(kind)
    return Part(words, label)


def _lines(name: str) -> list[str]:
    try:
        lines = (PREPARED / name).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise TrainingFailure(BAD_DATA, f"{error}: data/get_data.sh and then preprocess.sh make it") from None
    if not lines:
        raise TrainingFailure(
            BAD_DATA, f"{PREPARED / name} is empty: data/get_data.sh and then preprocess.sh make it"
        )
    return lines
