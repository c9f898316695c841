"""Trains the recommendation model: `start_paddle -- python train.py` in each pod, or `python train.py` by itself.

Reads this rank's shard in ./data, learns from its ratings, and tells after every pass the RMSE of all ranks' held-out
ratings together. Goes on where the launcher says.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratings import BadData

if TYPE_CHECKING:
    from feeds import Shard  # needs numpy
Tensor = Any  # Paddle has no types
# In a checkout the launcher's package is two directories up; an image has it on PYTHONPATH.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from launcher import here  # noqa: E402
from launcher.bridge import failure  # noqa: E402
from launcher.bridge.engine import Session, hold_finite  # noqa: E402
from launcher.bridge.failure import TrainingFailure  # noqa: E402
from launcher.bridge.fleet_role import fleet_role  # noqa: E402


def main(words: Sequence[str] | None = None) -> None:
    """Serve or train."""
    given = _parse(words)
    role = fleet_role(os.environ)
    session = Session(role, given.output, given.seed)
    import model  # needs numpy: a session tells with a sentence where that is missing
    from feeds import Sizes

    if role.serves:
        session.minimize(model.build(session, Sizes()).cost, given.learning_rate)
        _tell(f"pserver {role.rank} of {len(role.pservers)} at {role.pservers[role.rank]}")
        session.serve()
        return
    shard = _shard(given)
    network = model.build(session, shard.feeds.sizes)
    session.minimize(network.cost, given.learning_rate)
    start, directory = here.resume()
    session.begin(directory)
    _tell(f"trainer {role.rank} of {role.trainers}: {len(shard.learned)} ratings, {len(shard.held_out)} held out")
    for number in range(start, given.passes):
        began = time.monotonic()
        batches = shard.batches(number, given.batch, role.rank)
        cost = session.learn(number, batches, after=_progress(number), cost=network.error)
        session.together(f"pass-{number}")
        rmse = _rmse(session, network.rating, shard, number)
        here.progress(pass_=number, cost=cost, rmse=rmse)
        _tell(f" Pass={number} AvgCost={cost:.6g} RMSE={rmse:.4f} seconds={time.monotonic() - began:.1f}")
        session.save(number)
    session.finish()


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    job = Path(os.environ.get("JOB_PATH", "")) / os.environ.get("JOB_NAME", "")
    parser.add_argument("--data", type=Path, default=Path("data"), help="users, movies and ratings (./data)")
    parser.add_argument("--output", default=str(job / "output"), help="for the passes (the job's, or ./output)")
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--learning-rate", type=float, default=0.004)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(words)


def _shard(given: argparse.Namespace) -> Shard:
    from feeds import Shard

    try:
        return Shard(given.data)
    except (BadData, OSError) as error:
        raise TrainingFailure(failure.BAD_DATA, f"train: {error}") from None


def _rmse(session: Session, rating: Tensor, shard: Shard, number: int) -> float:
    """Return the error over the held-out ratings of all trainers, while none of them learns."""
    squares = 0.0
    for feed in shard.held_out_batches():
        (guess,) = session.predict(feed, rating)
        squares += float(((guess.clip(1, 5) - feed["rating"]) ** 2).sum())
    here.share("held-out", [squares, len(shard.held_out)])
    here.barrier(f"held-out-{number}")
    found = [here.get("held-out", rank=rank) for rank in range(session.role.trainers)]
    rmse = math.sqrt(sum(each[0] for each in found) / sum(each[1] for each in found))
    hold_finite("the held-out RMSE", rmse, f"after pass {number}")
    return rmse


def _progress(number: int) -> Callable[[int, int, float], None]:
    def after(batch: int, _size: int, cost: float) -> None:
        here.progress(pass_=number, step=batch, cost=cost)

    return after


def _tell(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    failure.leave(failure.code_of(main))
