"""Makes the training data: every five words in a row of a text, as numbers, a line for each.

python prepare.py /mnt/cephfs/word2vec --text=corpus.txt
python prepare.py /mnt/cephfs/word2vec                      # a made-up text, to try the training with
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import grams

# In a checkout the launcher's package is two directories up; an image has it where its Python finds it.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from launcher.dataset import DatasetError, dataset_from_reader

FIRST = [first + second for first in "bdfgklmnprst" for second in "ao"]
SECOND = [first + second for first in "lmnrst" for second in "ieu"]


def main(words: Sequence[str] | None = None) -> int:
    """Write the lines and the dictionary, and return 0, or 65 where there is nothing to make them of."""
    given = _parse(words)
    given.directory.mkdir(parents=True, exist_ok=True)
    text = given.text or given.directory / "made_up.txt"
    if not given.text:
        text.write_text("".join(f"{line}\n" for line in made_up(given.lines, given.seed)), encoding="utf-8")
    try:
        known = grams.dictionary(grams.sentences(text))
        count = dataset_from_reader(
            str(given.directory / grams.GRAMS), lambda: grams.grams(grams.sentences(text), known)
        )
    except (DatasetError, OSError) as error:
        sys.stderr.write(f"prepare: {error}\n")
        return 65
    (given.directory / grams.DICTIONARY).write_text("".join(f"{word}\n" for word in known), encoding="utf-8")
    print(f"{count} times {grams.WINDOW} words in a row, of {len(known)} words, in {given.directory}")
    return 0


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="where all trainers can read it")
    parser.add_argument("--text", type=Path, help="a text in UTF-8, a sentence a line")
    parser.add_argument("--lines", type=int, default=4000, help="of a text that is made up (4000)")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(words)


def made_up(lines: int, seed: int) -> Iterator[str]:
    """Yield sentences in which a word's kind follows from the kind of the one before: there is something to learn."""
    numbers = random.Random(seed)  # noqa: S311  # nothing is secret here
    kinds = [[first + second for second in SECOND] for first in FIRST]
    for _ in range(lines):
        kind, words = numbers.randrange(len(kinds)), []
        for _ in range(5 + numbers.randrange(10)):
            words.append(kinds[kind][int(len(SECOND) * numbers.random() ** 2)])
            kind = (7 * kind + 3 + numbers.randrange(3)) % len(kinds)
        yield " ".join(words)


if __name__ == "__main__":
    sys.exit(main())
