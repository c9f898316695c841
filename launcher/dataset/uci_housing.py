"""The seeds' first dataset, where Paddle keeps it: 506 houses, each with 13 features and its price.

Python 3.8, and no numpy: a record is two tuples of numbers, where Paddle's are two arrays of the same.
"""

from __future__ import annotations

import os

from launcher import dataset
from launcher.dataset.problem import DatasetError
from launcher.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Record = tuple[tuple[float, ...], tuple[float, ...]]
    Reader = Callable[[], Iterator[Record]]

URL = "http://paddlemodels.bj.bcebos.com/uci_housing/housing.data"
_COLUMNS = 14
_TRAINED = 0.8  # of the rows, the first ones


def train() -> Reader:
    """Return a reader of the rows to train on, their features within one of their mean."""
    rows = _rows()
    return lambda: iter(rows[: int(len(rows) * _TRAINED)])


def test() -> Reader:
    """Return a reader of the other rows."""
    rows = _rows()
    return lambda: iter(rows[int(len(rows) * _TRAINED) :])


def _rows() -> list[Record]:
    path = os.path.join(dataset.DATA_HOME, "uci_housing", "housing.data")
    try:
        with open(path, encoding="ascii") as file:
            numbers = [float(word) for word in file.read().split()]
    except FileNotFoundError:
        raise DatasetError(f"{shown(path)}: no such file: expected Paddle's dataset: download {URL} there") from None
    except ValueError as error:
        raise DatasetError(f"{shown(path)}: {error}: download {URL} again") from None
    if not numbers or len(numbers) % _COLUMNS:
        raise DatasetError(
            f"{shown(path)} has {len(numbers)} numbers, expected rows of {_COLUMNS}: download {URL} again"
        )
    rows = [numbers[at : at + _COLUMNS] for at in range(0, len(numbers), _COLUMNS)]
    scaled = [_scaled(column) for column in list(zip(*rows))[:-1]]  # noqa: B905  # Python 3.8 has no strict=
    return [(tuple(column[at] for column in scaled), (row[-1],)) for at, row in enumerate(rows)]


def _scaled(column: tuple[float, ...]) -> list[float]:
    """Return a column around 0, at most 1 wide; one of equal numbers is 0."""
    mean, width = sum(column) / len(column), max(column) - min(column)
    return [(value - mean) / width if width else 0.0 for value in column]
