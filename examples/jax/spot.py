"""train.py for nodes that come and go: as soon as all is to end it saves, at any step, and goes on from there."""

import os
import sys
import time
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from train import BATCH, SEED, begin, guess, step

sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from launcher import here
from launcher.dataset.ratings import ratings

PASSES = int(os.environ.get("PASSES", "5"))
PAUSE = float(os.environ.get("PAUSE", "0"))  # seconds after each step, to see something happen


def main():
    if here.trainers() > 1:
        jax.distributed.initialize()
    mesh = Mesh(jax.devices(), "all")  # the devices of all processes
    whole, divided = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("all"))
    rows = np.array([line.split(",") for line in ratings()], "int32")
    learned, held_out = rows[np.arange(len(rows)) % 5 > 0], rows[::5]
    saved, directory = here.resume()
    first, begins_at = here.position() or (0, 0)
    state = jax.device_put(begin(directory), whole)

    def save(number, at):
        nonlocal saved
        arrays = jax.tree.map(np.asarray, state)
        with here.saving(saved, position=(number, at)) as directory:  # where all is to end it does not return
            for part, each in zip(("weights", "squares"), arrays):
                if directory:
                    np.savez(Path(directory, f"{part}.npz"), **each)
        saved += 1

    for number in range(first, PASSES):
        order = np.random.default_rng((SEED, number)).permutation(len(learned))
        for at in range(begins_at, len(order), BATCH):
            if here.leaving():
                save(number, at)
            mine = learned[order[at : at + BATCH][here.rank() :: here.trainers()]]
            batch = jax.make_array_from_process_local_data(divided, mine)
            weights, squares, found = step(*state, batch)
            state = weights, squares
            here.progress(pass_=number, step=at // BATCH, cost=float(found))
            print(f" Step={number}.{at // BATCH} of={here.trainers()} at={time.monotonic():.2f}", flush=True)
            time.sleep(PAUSE)
        begins_at = 0
        now = jax.tree.map(np.asarray, state[0])
        error = np.sqrt(((guess(now, *held_out[:, :2].T) - held_out[:, 2]) ** 2).mean())
        print(f" Pass={number} AvgCost={found:.6g} RMSE={error:.4f}", flush=True)
        save(number + 1, 0)


if __name__ == "__main__":
    main()
