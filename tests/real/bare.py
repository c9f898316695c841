"""The same training without a launcher of ours: `python -m paddle.distributed.launch --run_mode=ps ... bare.py`.

The example's network and data, and the bridge's engine; barriers and the shared sums, which our launcher gives a
trainer, come from Paddle's own store at trainer 0. It runs in the Python that has Paddle.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "recommendation")]

from launcher.bridge import failure  # noqa: E402
from launcher.bridge.engine import Session  # noqa: E402
from launcher.bridge.fleet_role import FleetRole, fleet_role  # noqa: E402

PATIENCE = 900  # seconds that the store waits


def main() -> None:
    """Serve or train."""
    given = _parse()
    role = fleet_role(os.environ)
    session = Session(role, given.output)
    import model  # type: ignore[import-not-found]  # the example's, as the next
    from feeds import Shard, Sizes  # type: ignore[import-not-found]

    if role.serves:
        session.minimize(model.build(session, Sizes()).cost, given.learning_rate)
        session.serve()
        return
    shard = Shard(given.job / str(role.rank) / "data")
    network = model.build(session, shard.feeds.sizes)
    session.minimize(network.cost, given.learning_rate)
    store = Store(role, given.store)
    _begin(session, store)
    for number in range(given.passes):
        session.learn(number, shard.batches(number, given.batch, role.rank))
        session.parameters.flush()
        store.barrier(f"pass-{number}")
        session.together(f"pass-{number}")  # outside of a launcher it waits for nobody, and pulls
        squares = 0.0
        for feed in shard.held_out_batches():
            (guess,) = session.predict(feed, network.rating)
            squares += float(((guess.clip(1, 5) - feed["rating"]) ** 2).sum())
        sums = store.gathered(f"held-out-{number}", [squares, len(shard.held_out)])
        rmse = math.sqrt(sum(each[0] for each in sums) / sum(each[1] for each in sums))
        print(f" Pass={number} RMSE={rmse:.4f}", flush=True)
        session.save(number)
        store.barrier(f"saved-{number}")
    _finish(session, store)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", type=Path, required=True, help="where <rank>/data is")
    parser.add_argument("--output", required=True)
    parser.add_argument("--store", required=True, help="host:port at trainer 0")
    parser.add_argument("--passes", type=int, required=True)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--learning-rate", type=float, default=0.004)
    return parser.parse_args()


class Store:
    """What trainers say to each other: keys at trainer 0."""

    def __init__(self, role: FleetRole, endpoint: str) -> None:
        from paddle.base import core  # type: ignore[import-not-found]

        host, _, port = endpoint.rpartition(":")
        self._role = role
        self._keys = core.TCPStore(host, int(port), role.leads, role.trainers, PATIENCE)

    def say(self, name: str, value: object = None) -> None:
        self._keys.set(f"{name}/{self._role.rank}", json.dumps(value).encode())

    def barrier(self, name: str) -> None:
        self.gathered(name)

    def gathered(self, name: str, value: object = None) -> list[Any]:
        """Say a value, and return everybody's."""
        self.say(name, value)
        found = []
        for rank in range(self._role.trainers):
            self._keys.wait(f"{name}/{rank}")
            found.append(json.loads(self._keys.get(f"{name}/{rank}")))
        return found


def _begin(session: Session, store: Store) -> None:
    if session.role.leads:
        session.begin(None)
    store.barrier("begin")  # who met the pservers earlier would train against zeros
    if not session.role.leads:
        session.begin(None)
    store.barrier("ready")


def _finish(session: Session, store: Store) -> None:
    if session.role.leads:
        session.parameters.end(leads=True)
    store.barrier("stopped")
    session.parameters.leave()
    store.say("gone")
    if session.role.leads:
        store.barrier("gone")  # it takes the store with it


if __name__ == "__main__":
    failure.leave(failure.code_of(main))
