"""From files to readers, each trainer its own part: every record goes to exactly one of them."""

from __future__ import annotations

import glob
import os
import pickle

from launcher.dataset import recordio
from launcher.dataset.lines import values_of
from launcher.dataset.problem import DatasetError, DatasetMisuse
from launcher.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, BinaryIO

    Reader = Callable[[], Iterator[Any]]

# The launcher's variables for the number of trainers, and for this one's number.
COUNT = ("PADDLE_INIT_NUM_GRADIENT_SERVERS", "TRAINERS")
_NUMBER = ("PADDLE_INIT_TRAINER_ID", "TRAINER_ID")


def cluster_files_reader(
    files_pattern: str,
    trainer_count: int | None = None,
    trainer_id: int | None = None,
    loader: Callable[[BinaryIO], Iterable[Any]] = pickle.load,
    *,
    train_id: int | None = None,
) -> Reader:
    """Return a reader of this trainer's files: of those that match, in order, every `trainer_count`-th."""
    if not callable(loader):
        raise DatasetMisuse(f"loader={loader!r}: expected a function that takes an open file and returns its records")
    count, number = _trainer(trainer_count, trainer_id, train_id)

    def reader() -> Iterator[Any]:
        for path in _matching(files_pattern)[number::count]:
            with open(path, "rb") as file:
                yield from loader(file)

    return reader


def recordio_reader(
    filepath: str,
    parallelism: int | None = None,
    trainer_id: int | None = None,
    *,
    train_id: int | None = None,
    loads: Callable[[bytes], Any] = pickle.loads,  # only what the trainer's own job wrote
    errors: str = "raise",
) -> Reader:
    """Return a reader of the records in this trainer's RecordIO files."""
    count, number = _trainer(parallelism, trainer_id, train_id)

    def reader() -> Iterator[Any]:
        for path in _matching(filepath)[number::count]:
            with recordio.reader(path, errors) as records:
                for record in records:
                    yield loads(record)

    return reader


def dist_reader(
    filename: str,
    trainers: int | None = None,
    trainer_id: int | None = None,
    *,
    train_id: int | None = None,
    cell: Callable[[str], Any] = int,
) -> Reader:
    """Return a reader of this trainer's lines of a file, each a tuple of values that `cell` makes."""
    count, number = _trainer(trainers, trainer_id, train_id)

    def dist_reader_creator() -> Iterator[tuple[Any, ...]]:
        with open(filename, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            # Lines are counted from 1: trainer 0 of 3 has the lines 3, 6, 9.
            for at, line in enumerate(file, 1):
                if at % count == number:
                    try:
                        yield values_of(line, cell)
                    except ValueError as error:
                        raise DatasetError(f"{shown(filename)}, line {at}: {error}") from None

    return dist_reader_creator


def epoch_reader(
    records: Sequence[Any],
    seed: int,
    epoch: int,
    position: int = 0,
    trainers: int | None = None,
    trainer_id: int | None = None,
) -> Reader:
    """Return a reader of this trainer's records of an epoch, after those that all trainers together had before.

    Of what is left each trainer has every `trainers`-th: in turn they give the order that one trainer alone has.
    """
    count, number = _trainer(trainers, trainer_id)
    begin = _integer("position", position)
    if not 0 <= begin <= len(records):
        raise DatasetMisuse(f"position={begin} of {len(records)} records: expected 0 to {len(records)}")
    seed, epoch = _integer("seed", seed), _integer("epoch", epoch)

    def reader() -> Iterator[Any]:
        for at in order_of(len(records), seed, epoch)[begin + number :: count]:
            yield records[at]

    return reader


def order_of(records: int, seed: int, epoch: int) -> Sequence[int]:
    """Return the order of an epoch: each record's number once, the same in every process that asks."""
    from array import array
    from random import Random

    # Of all that `random` has, only this stays the same in later Pythons.
    draw = Random(f"{seed} {epoch}").random  # noqa: S311  # no secret
    order = array("Q", range(records))
    for last in range(records - 1, 0, -1):
        other = int(draw() * (last + 1))
        order[last], order[other] = order[other], order[last]
    return order


def gen_train_list(
    data_dir: str, train_pattern: str | None = None, test_pattern: str | None = None, *, root: str = "/"
) -> tuple[list[str], list[str]]:
    """Write this trainer's files to `/train.list` and `/test.list`, and return both lists.

    The files are `part-*` in the directory, and `part-*` in the directory of the same name with `_test` added.
    """
    count, number = _trainer(
        _written(root, "trainer_count", COUNT),
        _written(root, "trainer_id", _NUMBER),
    )
    base = str(data_dir).rstrip("/") or "/"
    train = _matching(train_pattern or os.path.join(glob.escape(base), "part-*"))
    by_default = os.path.join(glob.escape(base + "_test"), "part-*")
    test = _matching(test_pattern) if test_pattern else sorted(glob.glob(by_default))
    lists = train[number::count], test[number::count]
    if any("\n" in path for path in (*train, *test)):
        raise DatasetError(
            f"{data_dir!r}: a file name with a line break cannot be written into a list: rename the file"
        )
    for name, paths in zip(("train.list", "test.list"), lists):  # noqa: B905  # Python 3.8 has no strict=
        with open(os.path.join(root, name), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("\n".join(paths))
    return lists


def _matching(pattern: str) -> list[str]:
    found = sorted(glob.glob(os.fspath(pattern)))
    if not found:
        raise DatasetError(f"{shown(pattern)}: no file matches: expected at least one")
    return found


def _written(root: str, name: str, variables: tuple[str, ...]) -> int | None:
    """Return the number from the launcher's file, unless the environment has it."""
    if any(os.environ.get(variable) for variable in variables):
        return None
    try:
        with open(os.path.join(root, name), encoding="ascii") as file:
            return int(file.readline())
    except FileNotFoundError:
        return None
    except ValueError:
        raise DatasetError(f"{os.path.join(root, name)}: expected one whole number in it") from None


def _trainer(count: int | None, number: int | None, other: int | None = None) -> tuple[int, int]:
    """Return how many trainers there are and this one's number; `other` is the number under its other name."""
    if number is not None and other is not None and number != other:
        raise DatasetMisuse(f"trainer_id={number} and train_id={other}: two names of one argument: set only one")
    count = _given_or_set("trainer_count", count, COUNT, 1)
    number = _given_or_set("trainer_id", other if number is None else number, _NUMBER, 0)
    if count < 1:
        raise DatasetMisuse(f"trainer_count={count}: expected 1 or more")
    if not 0 <= number < count:
        raise DatasetMisuse(f"trainer_id={number} of trainer_count={count}: expected 0 to {count - 1}")
    return count, number


def _given_or_set(name: str, given: int | None, variables: tuple[str, ...], default: int) -> int:
    if given is not None:
        return _integer(name, given)
    for variable in variables:
        if os.environ.get(variable):
            return _integer(variable, os.environ[variable])
    return default


def _integer(name: str, given: object) -> int:
    try:
        number = int(given)  # type: ignore[call-overload]  # whatever int() takes
    except (TypeError, ValueError):
        number = None
    if number is None or (number != given and not isinstance(given, str)):
        raise DatasetMisuse(f"{name}={given!r}: expected a whole number")
    return int(number)
