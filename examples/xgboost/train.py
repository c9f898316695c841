"""Ratings by XGBoost: each process has its share of the ratings, and all grow the same trees together."""

import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import xgboost
from xgboost.collective import CommunicatorContext

# In a checkout the launcher's package is two directories up; elsewhere it is on PYTHONPATH, or installed.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from launcher import here
from launcher.dataset.ratings import AGES, GENRES, ratings, tables

PASSES, TREES, SEED = 5, 10, 1  # a pass is so many trees
PARAMS = {"max_depth": 7, "eta": 0.4, "subsample": 0.9, "seed": SEED}


def data():
    """Return what is known of each rating's user and movie, and the scores."""
    users, movies = ([line.split("::") for line in text.splitlines()] for text in tables().values())
    of_user = np.array([[gender == "M", AGES.index(int(age)), int(work)] for _, gender, age, work, _ in users])
    of_movie = np.array([[genre in genres.split("|") for genre in GENRES] for _, _, genres in movies])
    rows = np.array([line.split(",") for line in ratings()], "int32")
    user, movie = rows[:, 0] - 1, rows[:, 1] - 1  # they are counted from 1
    return np.column_stack([user, movie, of_user[user], of_movie[movie]]), rows[:, 2]


class AfterEachTree(xgboost.callback.TrainingCallback):
    """Reports progress, and saves a pass after each so many trees."""

    def __init__(self, held_out):
        super().__init__()
        self.held_out = held_out

    def after_iteration(self, model, epoch, evals_log):
        number, trees = divmod(model.num_boosted_rounds() - 1, TREES)  # `epoch` begins anew after a restart
        here.progress(pass_=number, step=trees)
        if trees == TREES - 1:
            self.save(model, number)
        return False  # goes on

    def save(self, model, number):
        error = np.sqrt(((model.predict(self.held_out) - self.held_out.get_label()) ** 2).mean())
        here.progress(pass_=number, rmse=error)
        print(f" Pass={number} RMSE={error:.4f}", flush=True)
        with here.saving(number) as directory:
            if directory:
                model.save_model(Path(directory, "model.json"))


def main():
    facts, scores = data()
    learned = np.flatnonzero(np.arange(len(scores)) % 5)[here.rank() :: here.trainers()]
    held_out = xgboost.DMatrix(facts[::5], scores[::5])
    start, directory = here.resume()
    before = xgboost.Booster(model_file=Path(directory, "model.json")) if directory else None
    tracker = here.xgboost()
    with CommunicatorContext(**tracker) if tracker else nullcontext():
        matrix = xgboost.DMatrix(facts[learned], scores[learned])
        more = (PASSES - start) * TREES
        xgboost.train(PARAMS, matrix, more, xgb_model=before, callbacks=[AfterEachTree(held_out)], verbose_eval=False)


if __name__ == "__main__":
    main()
