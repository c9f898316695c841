"""Makes up reviews with something to learn in them, in the form of reviews_Electronics_5.json.gz: one object a line.

python make_reviews.py data/reviews_Electronics_5.json.gz     the same bytes for the same seed; no numpy
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from opinions import Reviewer


def main(words: Sequence[str] | None = None) -> None:
    """Write the file; it has its name only once it is whole."""
    given = _parse(words)
    half = given.file.with_name(f".{given.file.name}.half")
    # Without a name and a time of its own in the header.
    with half.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        for line in lines(given.reviews, given.seed):
            packed.write(line.encode())
    half.replace(given.file)
    print(f"{given.file}: {given.reviews} made-up reviews, of seed {given.seed}")


def lines(reviews: int, seed: int) -> Iterator[str]:
    """Yield each review as Amazon's reviews have it, with those of their fields that say something."""
    reviewer = Reviewer(seed)
    for number in range(reviews):
        review = reviewer.review()
        said = {"reviewerID": f"A{number:09}", "reviewText": review.text, "overall": float(review.stars)}
        yield f"{json.dumps(said)}\n"


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="what to write")
    parser.add_argument("--reviews", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(words)
    if given.reviews < 1:
        parser.error(f"--reviews={given.reviews}: expected 1 or more")
    return given


if __name__ == "__main__":
    sys.exit(main())
