"""Reads reviews_Electronics_5.json.gz, or any file in its form: one object a line with `reviewText` and `overall`.

One line at a time, whatever the file's size. A line that cannot be read is counted, not fatal; the first one is told.
No numpy.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

LONGEST = 1 << 20  # bytes of a line: a longer one is no review
WORDS = 200  # of a review; the rest is left out
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
POSITIVE, NEGATIVE = 1, 0


class BadData(Exception):
    """What is wrong with a file, and what was expected."""


@dataclass
class Tally:
    """What was read, and what of it was of no use."""

    lines: int = 0
    undecided: int = 0  # three stars: neither for nor against
    bad: int = 0
    first_bad: str = ""

    def spoiled(self, where: str, why: str) -> None:
        """Count a bad line."""
        self.bad += 1
        self.first_bad = self.first_bad or f"{where}: {why}"


def reviews(path: Path, tally: Tally) -> Iterator[tuple[int, str]]:
    """Yield each review that is for or against something: POSITIVE or NEGATIVE, and its words, parted by blanks."""
    for number, line in enumerate(_lines(path), start=1):
        tally.lines += 1
        try:
            stars, text = _review(line)
        except ValueError as error:
            tally.spoiled(f"{path}:{number}", str(error))
            continue
        if stars == 3:
            tally.undecided += 1
        else:
            yield (POSITIVE if stars > 3 else NEGATIVE), text


def words_of(text: str) -> list[str]:
    """Return a review's words, in small letters; the numbers and all that stands between are left out."""
    return WORD.findall(text.lower())[:WORDS]


def _review(line: bytes) -> tuple[float, str]:
    if len(line) > LONGEST:
        raise ValueError(f"more than {LONGEST} bytes in a line")
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError(f"no JSON: {line[:40]!r}") from None
    if not isinstance(said, dict) or not {"reviewText", "overall"} <= set(said):
        raise ValueError("no reviewText and overall in it")
    stars, text = said["overall"], said["reviewText"]
    if isinstance(stars, bool) or not isinstance(stars, (int, float)) or not 1 <= stars <= 5:
        raise ValueError(f"overall is {stars!r}: expected 1 to 5")
    words = words_of(text) if isinstance(text, str) else []
    if not words:
        raise ValueError("there is no word in its reviewText")
    return stars, " ".join(words)


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as packed, gzip.GzipFile(fileobj=packed) as file:
            yield from _cut(file)
    except FileNotFoundError:
        raise BadData(f"{path} is not there: data/get_data.sh brings it") from None
    except (EOFError, zlib.error, OSError) as error:
        raise BadData(f"{path} cannot be read to its end: {error}; expected a whole gzip file") from None


def _cut(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines that are not empty; of one that is too long only its beginning."""
    for line in iter(lambda: file.readline(LONGEST + 1), b""):
        rest = line
        while len(rest) > LONGEST and not rest.endswith(b"\n"):
            rest = file.readline(LONGEST + 1)
        if line.strip():
            yield line
