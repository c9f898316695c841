"""Ratings by LightGBM: each process has its share of the ratings, and all grow the same trees together."""

import os
import sys
from pathlib import Path

import lightgbm
import numpy as np

# In a checkout the launcher's package is two directories up; elsewhere it is on PYTHONPATH, or installed.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from launcher import here
from launcher.dataset.ratings import AGES, GENRES, ratings, tables

PASSES, TREES, SEED = 5, 10, 1  # a pass is so many trees
PARAMS = {
    "objective": "regression",
    "num_leaves": 95,
    "learning_rate": 0.3,
    "bagging_fraction": 0.9,
    "bagging_freq": 1,
    "seed": SEED,
    "verbose": -1,
}


def data():
    """Return what is known of each rating's user and movie, and the scores."""
    users, movies = ([line.split("::") for line in text.splitlines()] for text in tables().values())
    of_user = np.array([[gender == "M", AGES.index(int(age)), int(work)] for _, gender, age, work, _ in users])
    of_movie = np.array([[genre in genres.split("|") for genre in GENRES] for _, _, genres in movies])
    rows = np.array([line.split(",") for line in ratings()], "int32")
    user, movie = rows[:, 0] - 1, rows[:, 1] - 1  # they are counted from 1
    return np.column_stack([user, movie, of_user[user], of_movie[movie]]).astype("float32"), rows[:, 2]


def network():
    """Return where all processes are; nothing where this one trains alone."""
    if here.trainers() == 1:
        return {}
    return {
        "machines": os.environ["LIGHTGBM_MACHINES"],
        "local_listen_port": int(os.environ["LIGHTGBM_LISTEN_PORT"]),
        "num_machines": int(os.environ["LIGHTGBM_NUM_MACHINES"]),
        "tree_learner": "data",
        "pre_partition": True,
    }


def main():
    facts, scores = data()
    learned = np.flatnonzero(np.arange(len(scores)) % 5)[here.rank() :: here.trainers()]
    start, directory = here.resume()

    def after_each_tree(env):
        number, trees = divmod(env.iteration, TREES)
        here.progress(pass_=number, step=trees)
        if trees == TREES - 1:
            save(env.model, number)

    def save(model, number):
        error = np.sqrt(((model.predict(facts[::5]) - scores[::5]) ** 2).mean())
        here.progress(pass_=number, rmse=error)
        print(f" Pass={number} RMSE={error:.4f}", flush=True)
        with here.saving(number) as directory:
            if directory:
                model.save_model(Path(directory, "model.txt"))

    lightgbm.train(
        {**PARAMS, **network()},
        lightgbm.Dataset(facts[learned], scores[learned]),
        (PASSES - start) * TREES,
        init_model=Path(directory, "model.txt") if directory else None,
        callbacks=[after_each_tree],
    )


if __name__ == "__main__":
    main()
