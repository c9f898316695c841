"""A pserver, or the one trainer, of a training whose tables are dealt anew: in the Python that has Paddle.

`bridge` is the example's network on the bridge; `fleet` a program that calls Paddle's fleet as its documents do, with
its own 1,000 shards and its own save and load. Both save what pservers hold right after a load, before anything else.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "recommendation")]

from launcher.bridge import failure, native  # noqa: E402
from launcher.bridge.engine import Session  # noqa: E402
from launcher.bridge.fleet_role import fleet_role  # noqa: E402

ROWS, FEATURES, BATCH = 3000, 5, 100
FIRST = 100  # the pass that is saved right after a load


def bridge(given: argparse.Namespace) -> None:
    role = fleet_role(os.environ)
    session = Session(role, given.output)
    import model  # type: ignore[import-not-found]  # the example's, as the next
    from feeds import Shard, Sizes  # type: ignore[import-not-found]

    shard = None if role.serves else Shard(given.data)
    network = model.build(session, shard.feeds.sizes if shard else Sizes())
    session.minimize(network.cost, 0.004)
    if shard is None:
        session.serve()
        return
    session.begin(given.load)

    def tell(**more: object) -> None:
        squares = 0.0
        for feed in shard.held_out_batches():
            (guess,) = session.predict(feed, network.rating)
            squares += float(((guess.clip(1, 5) - feed["rating"]) ** 2).sum())
        say(error=math.sqrt(squares / len(shard.held_out)), **more)

    if given.load:
        session.save(FIRST)
        tell(number=FIRST)
    for number in range(given.passes):
        session.learn(number, shard.batches(number, 256, 0))
        session.together(f"pass-{number}")
        tell(number=number)
        session.save(number)
    session.finish()


def fleet(given: argparse.Namespace) -> None:
    os.environ.update(fleet_role(os.environ).environment())
    paddle, numpy = native.paddle(), native.module("numpy")
    fleet = native.module("paddle.distributed.fleet")
    paddle.seed(1)
    nn, dim = paddle.static.nn, 3 if given.small else 8
    ids = paddle.static.data("ids", [None, 1], "int64")
    features = paddle.static.data("features", [None, FEATURES], "float32")
    wanted = paddle.static.data("wanted", [None, 1], "float32")
    vector = paddle.reshape(nn.sparse_embedding(ids, size=[ROWS, dim]), [-1, dim])
    seen = paddle.concat([vector, features], 1)
    guess = nn.fc(seen if given.small else nn.fc(seen, 16, activation="tanh"), 1)
    cost = paddle.mean(paddle.nn.functional.square_error_cost(guess, wanted))
    fleet.init(is_collective=False)
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    optimizer = paddle.optimizer.SGD(0.05) if given.sgd else paddle.optimizer.Adam(0.01)
    fleet.distributed_optimizer(optimizer, strategy).minimize(cost)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return
    executor, program = paddle.static.Executor(paddle.CPUPlace()), paddle.static.default_main_program()
    executor.run(paddle.static.default_startup_program())
    fleet.init_worker()
    runtime, public = fleet.fleet._runtime_handle, native.module("paddle.distributed.ps.utils.public")
    received = public.get_the_one_recv_context(runtime.context, split_dense_table=False)
    sent = public.get_the_one_send_context(runtime.context, split_dense_table=False, ep_list=runtime.endpoints)
    learned, held_out = made(numpy, 20_000, 1), made(numpy, 4_000, 2)
    forward = program.clone(for_test=True)._prune([guess])  # after `minimize`: only then does it look up on pservers

    def tell(number: int) -> None:
        runtime._worker.client_flush()
        runtime._pull_all_dense(runtime.scopes, sent, received)
        (found,) = executor.run(forward, feed={"ids": held_out[0], "features": held_out[1]}, fetch_list=[guess.name])
        say(number=number, error=float(((found - held_out[2]) ** 2).mean() ** 0.5))

    if given.load:
        fleet.load_model(given.load, mode=0)
        fleet.save_persistables(executor, f"{given.output}/pass-{FIRST:05}", program, mode=0)
        tell(FIRST)
    for number in range(given.passes):
        for feed in batches(learned):
            runtime._pull_all_dense(runtime.scopes, sent, received)
            executor.run(program, feed=feed, fetch_list=[cost])
        tell(number)
        fleet.save_persistables(executor, f"{given.output}/pass-{number:05}", program, mode=0)
    runtime._worker.stop_server()
    fleet.stop_worker()


def made(numpy: native.Untyped, count: int, seed: int) -> tuple[Any, Any, Any]:
    """Return ids, features and what is wanted: every id has a value of its own, the same in all calls."""
    draw, values = numpy.random.default_rng(seed), numpy.random.default_rng(0).normal(size=ROWS)
    ids, features = draw.integers(0, ROWS, (count, 1)), draw.normal(size=(count, FEATURES)).astype("float32")
    wanted = values[ids] + features[:, :1] - 0.5 * features[:, 1:2] * features[:, 2:3]
    return ids, features, wanted.astype("float32")


def batches(of: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    for begin in range(0, len(of[0]), BATCH):
        parts = (each[begin : begin + BATCH] for each in of)
        yield dict(zip(("ids", "features", "wanted"), parts, strict=True))


def say(**facts: object) -> None:
    print("SAID " + json.dumps(facts), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("bridge", "fleet"))
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--output", required=True)
    parser.add_argument("--load")
    parser.add_argument("--passes", type=int, default=0)
    parser.add_argument("--sgd", action="store_true")
    parser.add_argument("--small", action="store_true", help="9 numbers in the layers, and of 3 pservers one has 1")
    given = parser.parse_args()
    {"bridge": bridge, "fleet": fleet}[given.kind](given)


if __name__ == "__main__":
    failure.leave(failure.code_of(main))
