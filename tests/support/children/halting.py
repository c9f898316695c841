"""A trainer that comes to a stand in its second step: one rank in a read that never ends, the others wait for it.

Its own Python, with `site`, as users have it. Arguments: the rank that reads for ever.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from launcher import here


def read(endless: int) -> bytes:
    return os.read(endless, 1)


def train(culprit: int) -> None:
    endless, _kept = os.pipe()
    for step in range(100):
        if step == 1 and here.rank() == culprit:
            read(endless)
        here.barrier(f"step {step}")
        print(f"step {step}", flush=True)


if __name__ == "__main__":
    train(int(sys.argv[1]))
