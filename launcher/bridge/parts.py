"""Reads the files that pservers wrote: parts of sparse and dense tables, numbers as text with six digits each.

A sparse line is: id, five counts, the first weight, its four numbers of Adam, then the other weights and theirs.
"""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from launcher.bridge import native
from launcher.bridge.failure import BAD_DATA, SETTINGS, TrainingFailure

SHARDS = 12  # at least; of 1,000, the default, each pass takes five times as long
LOCAL_PARAMETERS = "parameters.npz"  # written by a training without pservers
_FIRST = 6
OTHERS = 11
_BLOCK = 1 << 20


def shards(pservers: int) -> int:
    """Return the files of a sparse table: as many on each pserver, since one without any dies of SIGFPE in a load."""
    return pservers * -(-SHARDS // pservers)


def check_readers(directory: Path, facts: Mapping[str, Any], pservers: int) -> None:
    """Refuse a pass that so many pservers would read only in part, without a message."""
    made = facts.get("pservers") or 0
    if pservers not in (able := readers(facts)):
        said = f"{directory} was made with pservers {made}, this gang has {pservers}"
        expected = f"{' or '.join(map(str, able))} of them" if made else "none"
        raise TrainingFailure(SETTINGS, f"{said}: expected {expected}, or a run without this pass")


def readers(facts: Mapping[str, Any]) -> tuple[int, ...]:
    """Return how many pservers can read a pass: each takes its files from the sorted list of their names.

    So they have to be as many files. Of the layers a pserver counts the lines of all parts; but one that has a single
    number of them saves it with others beside it, which kill one that has more.
    """
    made, numbers = facts.get("pservers") or 0, _numbers(facts)
    alike = [count for count in range(1, facts.get("shards", 0) + 1) if shards(count) == facts["shards"]]
    return tuple(
        count for count in alike if count == made or 1 not in (*_shares(numbers, made), *_shares(numbers, count))
    )


def _numbers(facts: Mapping[str, Any]) -> int:
    tables = facts.get("tables", {}).values()
    return sum(math.prod(shape) for told in tables for _, shape in told.get("dense", ()))


def _shares(numbers: int, pservers: int) -> tuple[int, ...]:
    """Return how many of the layers' numbers each pserver has."""
    each = numbers // pservers + 1
    return tuple(max(0, min(each, numbers - each * rank)) for rank in range(pservers))


def parameters(directory: Path, facts: Mapping[str, Any], sparse: bool = True) -> dict[str, Any]:
    """Return the parameters of a pass by name, as arrays; `facts` are those of its `done`.

    A table has no line for a row that no trainer asked for: it is 0 here.
    """
    numpy = native.module("numpy")
    if not facts.get("pservers"):
        with _readable(directory / LOCAL_PARAMETERS), numpy.load(directory / LOCAL_PARAMETERS) as found:
            return dict(found)
    values: dict[str, Any] = {}
    for table, told in facts["tables"].items():
        if "dense" in told:
            values.update(_divided(dense(directory / table), told["dense"], str(directory / table)))
        elif sparse:
            values[told["sparse"]] = array = numpy.zeros((told["rows"], told["dim"]), "float32")
            for row, vector in vectors(directory / table, told["dim"]):
                if 0 <= row < len(array):
                    array[row] = vector
    return values


def _divided(numbers: list[float], variables: list[tuple[str, list[int]]], where: str) -> dict[str, Any]:
    numpy = native.module("numpy")
    values, begin = {}, 0
    for name, shape in variables:
        end = begin + int(numpy.prod(shape))
        if end > len(numbers):
            raise TrainingFailure(BAD_DATA, f"{where}: {len(numbers)} numbers: expected {end} or more, up to {name}")
        values[name] = numpy.array(numbers[begin:end], "float32").reshape(shape)
        begin = end
    return values


def vectors(table: Path, dim: int) -> Iterator[tuple[int, list[float]]]:
    """Yield each id and its vector."""
    for where, words in _lines(table):
        if len(words) < OTHERS + dim - 1:
            raise TrainingFailure(BAD_DATA, f"{where}: {len(words)} numbers: expected those of a vector of {dim}")
        vector = [words[_FIRST], *words[OTHERS : OTHERS + dim - 1]]
        yield int(words[0]), [float(word) for word in vector]


def dense(table: Path) -> list[float]:
    """Return all dense weights, one variable after the other as the table has them."""
    return [float(words[0]) for _, words in _lines(table)]


def check_parts(directory: Path) -> None:
    """Read every part of a pass to its end: a pserver skips a part that it cannot read, without a message."""
    for path in sorted(directory.glob("*/part-*")):
        with _readable(path), gzip.open(path) as part:
            while part.read(_BLOCK):
                pass


def _lines(table: Path) -> Iterator[tuple[str, list[str]]]:
    for path in sorted(table.glob("part-*")):
        with _readable(path), gzip.open(path, "rt") as lines:
            for number, line in enumerate(lines, start=1):
                yield f"{path}:{number}", line.split()


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Refuse a compressed file that cannot be read; its size may be right."""
    try:
        yield
    except (OSError, EOFError, ValueError, zlib.error, BadZipFile) as error:
        raise TrainingFailure(
            BAD_DATA, f"{path} cannot be read: {error}: remove this pass, or start from another one"
        ) from None
