"""Ratings by JAX: each process learns from its share of every batch, and all have the same weights."""

import sys
from pathlib import Path

import jax
import numpy as np
from jax import numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

# In a checkout the launcher's package is two directories up; elsewhere it is on PYTHONPATH, or installed.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from launcher import here
from launcher.dataset.ratings import MOVIES, USERS, ratings

PASSES, BATCH, SEED = 5, 1_200, 1  # a batch is of all processes together
WIDTH, RATE, PENALTY, MIDDLE = 16, 0.2, 0.05, 3.5


def guess(weights, users, movies):
    user, movie = weights["user"][users], weights["movie"][movies]
    return MIDDLE + user[:, 0] + movie[:, 0] + (user[:, 1:] * movie[:, 1:]).sum(1)


def cost(weights, users, movies, scores):
    long = (weights["user"][users] ** 2).sum(1) + (weights["movie"][movies] ** 2).sum(1)
    return ((guess(weights, users, movies) - scores) ** 2 + PENALTY * long).mean()


@jax.jit
def step(weights, squares, rows):
    """Adagrad. JAX adds up the slopes of all processes, since each has all weights and only some rows."""
    found, slope = jax.value_and_grad(cost)(weights, *rows.T)
    squares = jax.tree.map(lambda before, each: before + each**2, squares, slope)
    change = jax.tree.map(lambda each, before: RATE * each / jnp.sqrt(before + 1e-10), slope, squares)
    return jax.tree.map(jnp.subtract, weights, change), squares, found


def begin(directory):
    """Return weights and Adagrad's squares: the last pass's, or new ones that are the same in every process."""
    if directory:
        return tuple(dict(np.load(Path(directory, f"{part}.npz"))) for part in ("weights", "squares"))
    chance, sizes = np.random.default_rng(SEED), {"user": USERS + 1, "movie": MOVIES + 1}
    weights = {name: chance.normal(0, 0.1, (size, 1 + WIDTH)).astype("float32") for name, size in sizes.items()}
    return weights, {name: np.zeros_like(each) for name, each in weights.items()}


def main():
    if here.trainers() > 1:
        jax.distributed.initialize()
    mesh = Mesh(jax.devices(), "all")  # the devices of all processes
    whole, divided = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("all"))
    rows = np.array([line.split(",") for line in ratings()], "int32")
    learned, held_out = rows[np.arange(len(rows)) % 5 > 0], rows[::5]
    start, directory = here.resume()
    weights, squares = jax.device_put(begin(directory), whole)
    for number in range(start, PASSES):
        order = np.random.default_rng((SEED, number)).permutation(len(learned))
        costs = []
        for at in range(0, len(order), BATCH):
            mine = learned[order[at : at + BATCH][here.rank() :: here.trainers()]]
            batch = jax.make_array_from_process_local_data(divided, mine)
            weights, squares, found = step(weights, squares, batch)
            costs.append(float(found))
            here.progress(pass_=number, step=at // BATCH, cost=costs[-1])
        now = jax.tree.map(np.asarray, (weights, squares))
        error = np.sqrt(((guess(now[0], *held_out[:, :2].T) - held_out[:, 2]) ** 2).mean())
        here.progress(pass_=number, rmse=error)
        print(f" Pass={number} AvgCost={np.mean(costs):.6g} RMSE={error:.4f}", flush=True)
        with here.saving(number) as directory:
            if directory:
                for part, arrays in zip(("weights", "squares"), now):
                    np.savez(Path(directory, f"{part}.npz"), **arrays)


if __name__ == "__main__":
    main()
