"""What `paddle train --config=./trainer_config.py` trains: this directory's model on the ratings in ./data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import model
from feeds import Shard, Sizes

from launcher.bridge.config import Network
from launcher.bridge.engine import Session
from launcher.bridge.fleet_role import FleetRole

batch_size = 256
learning_rate = 0.004
Feed = Any  # arrays by input


def data() -> Shard:
    """Return this trainer's shard."""
    return Shard(Path("data"))


def network(session: Session, shard: Shard | None) -> Network:
    """Return the network; the cost that is told has no penalty in it."""
    made = model.build(session, shard.feeds.sizes if shard else Sizes())
    return Network(inputs=model.INPUTS, cost=made.cost, shown=made.error)


def train(shard: Shard, number: int, role: FleetRole) -> Iterator[Feed]:
    """Yield a pass over the shard."""
    return shard.batches(number, batch_size, role.rank)


def test(shard: Shard) -> Iterator[Feed]:
    """Yield the shard's held-out ratings."""
    return shard.held_out_batches()
