"""Tells a user's top movies, by a pass that was saved: `python infer.py 42 --pass output/pass-00009`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ratings import BadData, Data, read

# In a checkout the launcher's package is two directories up; an image has it on PYTHONPATH.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from launcher.bridge import failure, passes
from launcher.bridge.engine import Session
from launcher.bridge.failure import TrainingFailure
from launcher.bridge.fleet_role import FleetRole


def main(words: Sequence[str] | None = None) -> None:
    """Print the movies that the user has not rated in this data, held out or not, best first."""
    given = _parse(words)
    directory = given.directory or _newest(Path("output"))
    session = Session(FleetRole())
    import model
    import numpy as np
    from feeds import Feeds

    try:
        data = read(given.data)
    except (BadData, OSError) as error:
        raise TrainingFailure(failure.BAD_DATA, f"infer: {error}") from None
    if given.user not in data.users:
        raise TrainingFailure(
            failure.BAD_DATA, f"infer: {given.data} has no user {given.user}: expected {_some(data.users)}"
        )
    movies = _unrated(data, given.user)
    if not movies:
        print(f"user {given.user} has rated every movie in {given.data}")
        return
    feeds = Feeds(data)
    network = model.build(session, feeds.sizes)
    session.open(str(directory))
    (guess,) = session.predict(feeds.feed(np.array([(given.user, number, 0) for number in movies])), network.rating)
    for at in np.argsort(-guess[:, 0], kind="stable")[: given.top]:
        print(f"{min(5, guess[at, 0]):.2f}  {movies[at]:>5}  {data.movies[movies[at]].title}")


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("user", type=int, help="the user's id")
    parser.add_argument("--pass", dest="directory", type=Path, help="a pass's directory (the newest of ./output)")
    parser.add_argument("--data", type=Path, default=Path("data"), help="users, movies and ratings (./data)")
    parser.add_argument("--top", type=int, default=10)
    return parser.parse_args(words)


def _unrated(data: Data, user: int) -> list[int]:
    rated = {each.movie for each in (*data.ratings, *(data.held_out or ())) if each.user == user}
    return [number for number in sorted(data.movies) if number not in rated]


def _newest(output: Path) -> Path:
    found = sorted(path.parent for path in output.glob(f"pass-*/{passes.DONE}"))
    if not found:
        raise TrainingFailure(failure.BAD_DATA, f"infer: {output} has no complete pass: name one with --pass")
    return found[-1]


def _some(users: dict) -> str:
    return f"one of {len(users)}, {min(users)} to {max(users)}"


if __name__ == "__main__":
    sys.exit(failure.code_of(main))
