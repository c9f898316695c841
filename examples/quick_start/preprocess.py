"""Makes ./data/prepared of the reviews: as many for as against, train.txt, test.txt and the dictionary dict.txt.

One pass over the file: of each kind a fair sample of bounded size is kept. The same result for the same file and
seed. No numpy.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from raw import NEGATIVE, POSITIVE, BadData, Tally, reviews

FILE = Path("data/reviews_Electronics_5.json.gz")
PREPARED = Path("data/prepared")
FEWEST = 10  # reviews of a kind: of fewer there is nothing to learn or to test


@dataclass(frozen=True)
class Prepared:
    """What is learned from, what is held out, and the words by how often they are in what is learned from."""

    train: list[tuple[int, str]]
    test: list[tuple[int, str]]
    words: list[tuple[str, int]]


def main(words: Sequence[str] | None = None) -> int:
    """Prepare the data and return 0, or 65 where there is nothing to make it of."""
    given, tally = _parse(words), Tally()
    try:
        kinds = sample(reviews(given.file, tally), given.most, given.seed)
        prepared = prepare(kinds, given.held_out, given.dictionary, given.seed)
    except BadData as error:
        sys.stderr.write(f"preprocess: {error}{_told(tally)}\n")
        return 65
    write(PREPARED, prepared)
    print(
        f"{PREPARED}: {len(prepared.train)} reviews to learn from and {len(prepared.test)} held out, half of them "
        f"positive; {len(prepared.words)} words{_told(tally)}"
    )
    return 0


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=FILE, help=f"one JSON object a line, gzip ({FILE})")
    parser.add_argument("--most", type=int, default=25_000, help="reviews of a kind, drawn from all (25,000)")
    parser.add_argument("--held-out", type=float, default=0.2, help="which part is not learned from (0.2)")
    parser.add_argument("--dictionary", type=int, default=30_000, help="words; rarer ones are unknown (30,000)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(words)
    if given.most < FEWEST or given.dictionary < 1 or not 0 < given.held_out < 1:
        parser.error(f"expected {FEWEST} reviews of a kind or more, 1 word or more, and a part between 0 and 1")
    return given


def sample(found: Iterable[tuple[int, str]], most: int, seed: int) -> dict[int, list[str]]:
    """Return of each kind at most so many texts, any of them as likely as any other (Waterman's reservoir)."""
    numbers = random.Random(seed)  # noqa: S311  # nothing is secret here
    kept: dict[int, list[str]] = {POSITIVE: [], NEGATIVE: []}
    seen: Counter[int] = Counter()
    for kind, text in found:
        seen[kind] += 1
        if len(kept[kind]) < most:
            kept[kind].append(text)
        else:
            at = int(seen[kind] * numbers.random())
            if at < most:
                kept[kind][at] = text
    return kept


def prepare(kinds: dict[int, list[str]], held_out: float, dictionary: int, seed: int) -> Prepared:
    """Return as many of either kind, mixed and divided; no text is in both parts, and the dictionary is of one."""
    numbers = random.Random(seed)  # noqa: S311
    kinds = _once(kinds)
    count = min(map(len, kinds.values()))
    if count < FEWEST:
        found = f"{len(kinds[POSITIVE])} positive and {len(kinds[NEGATIVE])} negative reviews"
        raise BadData(f"there are {found}: expected {FEWEST} or more of each")
    for texts in kinds.values():
        numbers.shuffle(texts)
    test = max(1, round(count * held_out))
    parts = []
    for begin, end in ((test, count), (0, test)):
        parts.append([(kind, text) for kind, texts in sorted(kinds.items()) for text in texts[begin:end]])
        numbers.shuffle(parts[-1])
    train, held = parts
    many = Counter(word for _, text in train for word in text.split())
    return Prepared(train, held, sorted(many.items(), key=lambda each: (-each[1], each[0]))[:dictionary])


def _once(kinds: dict[int, list[str]]) -> dict[int, list[str]]:
    """Return each text once; what was said both for and against something is left out."""
    positive, negative = (dict.fromkeys(kinds[kind]) for kind in (POSITIVE, NEGATIVE))
    return {
        POSITIVE: [text for text in positive if text not in negative],
        NEGATIVE: [text for text in negative if text not in positive],
    }


def write(directory: Path, prepared: Prepared) -> None:
    """Write the three files; the directory has its name only once they are whole."""
    half, old = directory.with_name(f".{directory.name}.half"), directory.with_name(f".{directory.name}.old")
    for left in (half, old):
        shutil.rmtree(left, ignore_errors=True)
    half.mkdir(parents=True)
    _lines(half / "train.txt", prepared.train)
    _lines(half / "test.txt", prepared.test)
    _lines(half / "dict.txt", prepared.words)
    if directory.exists():
        directory.rename(old)
    half.rename(directory)
    shutil.rmtree(old, ignore_errors=True)


def _lines(path: Path, rows: Iterable[tuple[object, object]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{first}\t{second}\n" for first, second in rows)


def _told(tally: Tally) -> str:
    """Return what was read and left out, and the first line that could not be read."""
    told = f"\n  read {tally.lines} lines; {tally.undecided} of three stars left out"
    return told + (f"; {tally.bad} bad lines left out, the first one {tally.first_bad}" if tally.bad else "")


if __name__ == "__main__":
    sys.exit(main())
