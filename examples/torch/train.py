"""Ratings by torch: each process learns from its share of every batch, and DistributedDataParallel joins them."""

import os
import sys
from pathlib import Path

import torch
from torch import distributed, nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel

# In a checkout the launcher's package is two directories up; elsewhere it is on PYTHONPATH, or installed.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from launcher import here
from launcher.dataset.ratings import MOVIES, USERS, ratings

PASSES, BATCH, SEED = 5, 1_200, 1  # a batch is of all processes together
WIDTH, RATE, PENALTY, MIDDLE = 16, 0.2, 0.05, 3.5


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.movie = nn.Embedding(USERS + 1, 1 + WIDTH), nn.Embedding(MOVIES + 1, 1 + WIDTH)
        for table in (self.user, self.movie):
            nn.init.normal_(table.weight, 0, 0.1)

    def forward(self, rows):
        """Return what each user would give each movie, and how long both vectors are."""
        user, movie = self.user(rows[:, 0]), self.movie(rows[:, 1])
        guess = MIDDLE + user[:, 0] + movie[:, 0] + (user[:, 1:] * movie[:, 1:]).sum(1)
        return guess, (user**2).sum(1) + (movie**2).sum(1)


@record  # what it fails of is in the launcher's verdict
def main():
    if "RANK" in os.environ:
        distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if torch.cuda.is_available() else "cpu"
    rows = torch.tensor([[int(word) for word in line.split(",")] for line in ratings()], device=device)
    learned, held_out = rows[torch.arange(len(rows)) % 5 > 0], rows[::5]
    torch.manual_seed(SEED)
    model = Model().to(device)
    together = DistributedDataParallel(model) if distributed.is_initialized() else model
    optimizer = torch.optim.Adagrad(model.parameters(), RATE)
    start, directory = here.resume()
    if directory:
        kept = torch.load(Path(directory, "model.pt"), map_location=device)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
    for number in range(start, PASSES):
        order = torch.randperm(len(learned), generator=torch.Generator().manual_seed(1000 * SEED + number))
        costs = []
        for at in range(0, len(order), BATCH):
            mine = learned[order[at : at + BATCH][here.rank() :: here.trainers()]]
            guess, long = together(mine)
            cost = ((guess - mine[:, 2]) ** 2 + PENALTY * long).mean()
            optimizer.zero_grad()
            cost.backward()
            optimizer.step()
            costs.append(cost.item())
            here.progress(pass_=number, step=at // BATCH, cost=costs[-1])
        with torch.no_grad():
            error = ((model(held_out)[0] - held_out[:, 2]) ** 2).mean().sqrt().item()
        here.progress(pass_=number, rmse=error)
        print(f" Pass={number} AvgCost={sum(costs) / len(costs):.6g} RMSE={error:.4f}", flush=True)
        with here.saving(number) as directory:
            if directory:
                kept = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save(kept, Path(directory, "model.pt"))
    if distributed.is_initialized():
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
