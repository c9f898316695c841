"""Ratings by TensorFlow: each process learns from its share of every batch, and the strategy joins them."""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

# In a checkout the launcher's package is two directories up; elsewhere it is on PYTHONPATH, or installed.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from launcher import here
from launcher.dataset.ratings import MOVIES, USERS, ratings

PASSES, BATCH, SEED = 5, 1_200, 1  # a batch is of all processes together
WIDTH, RATE, PENALTY, MIDDLE = 16, 0.2, 0.05, 3.5
SIZES = (USERS + 1, MOVIES + 1)


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        chance = np.random.default_rng(SEED)
        starts = [chance.normal(0, 0.1, (size, 1 + WIDTH)).astype("float32") for size in SIZES]
        self.tables = [tf.Variable(each) for each in starts]
        self.squares = [tf.Variable(np.zeros_like(each)) for each in starts]

    def look_up(self, rows):
        """Return what each user would give each movie, and how long both vectors are."""
        user, movie = (tf.gather(table, rows[:, at]) for at, table in enumerate(self.tables))
        guess = MIDDLE + user[:, 0] + movie[:, 0] + tf.reduce_sum(user[:, 1:] * movie[:, 1:], 1)
        return guess, tf.reduce_sum(user**2, 1) + tf.reduce_sum(movie**2, 1)

    def learn(self, rows):
        """Adagrad, with the mean of all processes' slopes."""
        with tf.GradientTape() as tape:
            guess, long = self.look_up(rows)
            cost = tf.reduce_mean((guess - tf.cast(rows[:, 2], tf.float32)) ** 2 + PENALTY * long)
        slopes = [tf.convert_to_tensor(each) for each in tape.gradient(cost, self.tables)]
        slopes = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, slopes)
        for table, square, slope in zip(self.tables, self.squares, slopes):
            table.assign_sub(RATE * slope / tf.sqrt(square.assign_add(slope**2) + 1e-10))
        return cost


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # before all else of TensorFlow
    rows = np.array([line.split(",") for line in ratings()], "int32")
    learned, held_out = rows[np.arange(len(rows)) % 5 > 0], rows[::5]
    with strategy.scope():
        model = Model()
    step = tf.function(lambda rows: strategy.run(model.learn, (rows,)))
    start, directory = here.resume()
    checkpoint = tf.train.Checkpoint(model=model)
    if directory:
        checkpoint.read(f"{directory}/model").assert_consumed()
    for number in range(start, PASSES):
        order = np.random.default_rng((SEED, number)).permutation(len(learned))
        costs = []
        for at in range(0, len(order), BATCH):
            mine = learned[order[at : at + BATCH][here.rank() :: here.trainers()]]
            costs.append(float(step(tf.constant(mine))))
            here.progress(pass_=number, step=at // BATCH, cost=costs[-1])
        error = np.sqrt(((model.look_up(held_out)[0] - held_out[:, 2]) ** 2).numpy().mean())
        here.progress(pass_=number, rmse=error)
        print(f" Pass={number} AvgCost={np.mean(costs):.6g} RMSE={error:.4f}", flush=True)
        with here.saving(number) as directory:
            if directory:
                checkpoint.write(f"{directory}/model")


if __name__ == "__main__":
    main()
