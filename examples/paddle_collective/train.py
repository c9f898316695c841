"""Ratings by Paddle: each process learns from its share of every batch, and DataParallel joins them."""

import sys
from pathlib import Path

import numpy as np
import paddle
from paddle import distributed, nn

# In a checkout the launcher's package is two directories up; elsewhere it is on PYTHONPATH, or installed.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from launcher import here
from launcher.dataset.ratings import MOVIES, USERS, ratings

PASSES, BATCH, SEED = 5, 1_200, 1  # a batch is of all processes together
WIDTH, RATE, PENALTY, MIDDLE = 16, 0.2, 0.05, 3.5


class Model(nn.Layer):
    def __init__(self):
        super().__init__()
        chance = paddle.ParamAttr(initializer=nn.initializer.Normal(0.0, 0.1))
        self.user = nn.Embedding(USERS + 1, 1 + WIDTH, weight_attr=chance)
        self.movie = nn.Embedding(MOVIES + 1, 1 + WIDTH, weight_attr=chance)

    def forward(self, rows):
        """Return what each user would give each movie, and how long both vectors are."""
        user, movie = self.user(rows[:, 0]), self.movie(rows[:, 1])
        guess = MIDDLE + user[:, 0] + movie[:, 0] + (user[:, 1:] * movie[:, 1:]).sum(1)
        return guess, (user**2).sum(1) + (movie**2).sum(1)


def main():
    if here.trainers() > 1:
        distributed.init_parallel_env()
    rows = np.array([line.split(",") for line in ratings()], "int64")
    learned, held_out = rows[np.arange(len(rows)) % 5 > 0], paddle.to_tensor(rows[::5])
    paddle.seed(SEED)
    model = Model()
    together = paddle.DataParallel(model) if here.trainers() > 1 else model
    optimizer = paddle.optimizer.Adagrad(RATE, parameters=model.parameters())
    start, directory = here.resume()
    if directory:
        model.set_state_dict(paddle.load(f"{directory}/model.pdparams"))
        optimizer.set_state_dict(paddle.load(f"{directory}/model.pdopt"))
    for number in range(start, PASSES):
        order = np.random.default_rng((SEED, number)).permutation(len(learned))
        costs = []
        for at in range(0, len(order), BATCH):
            mine = paddle.to_tensor(learned[order[at : at + BATCH][here.rank() :: here.trainers()]])
            guess, long = together(mine)
            cost = ((guess - mine[:, 2].astype("float32")) ** 2 + PENALTY * long).mean()
            cost.backward()
            optimizer.step()
            optimizer.clear_grad()
            costs.append(cost.item())
            here.progress(pass_=number, step=at // BATCH, cost=costs[-1])
        with paddle.no_grad():
            error = ((model(held_out)[0] - held_out[:, 2].astype("float32")) ** 2).mean().sqrt().item()
        here.progress(pass_=number, rmse=error)
        print(f" Pass={number} AvgCost={np.mean(costs):.6g} RMSE={error:.4f}", flush=True)
        with here.saving(number) as directory:
            if directory:
                paddle.save(model.state_dict(), f"{directory}/model.pdparams")
                paddle.save(optimizer.state_dict(), f"{directory}/model.pdopt")


if __name__ == "__main__":
    main()
