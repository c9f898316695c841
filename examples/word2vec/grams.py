"""What preparing and training agree on: the window, the words that count, the files. Python 3.8, no numpy."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator
from pathlib import Path

WINDOW = 5  # four words, and the one that follows them
WORDS = 2000  # the most frequent; pservers see no data, so this and no count of the data makes the layers' shape
START, END, UNKNOWN = "<s>", "<e>", "<unk>"
GRAMS, DICTIONARY = "train.txt", "words.txt"
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


def sentences(path: Path) -> Iterator[list[str]]:
    """Yield the words of each line that has any."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            words = WORD.findall(line.lower())
            if words:
                yield words


def dictionary(lines: Iterator[list[str]], size: int = WORDS) -> list[str]:
    """Return the words that count, by their numbers: the three marks first, then by frequency."""
    counted = collections.Counter(word for words in lines for word in words)
    by_frequency = sorted(counted, key=lambda word: (-counted[word], word))
    return [START, END, UNKNOWN, *by_frequency[: size - 3]]


def grams(lines: Iterator[list[str]], words: list[str]) -> Iterator[tuple[int, ...]]:
    """Yield every window of every line as numbers."""
    numbers = {word: number for number, word in enumerate(words)}
    unknown = numbers[UNKNOWN]
    for line in lines:
        found = [numbers[START], *(numbers.get(word, unknown) for word in line), numbers[END]]
        for at in range(len(found) - WINDOW + 1):
            yield tuple(found[at : at + WINDOW])
