"""How fast this machine is beside the one that the minutes of .ci/run were measured on: python3 -m tests.speed

Prints how much of that one's time it takes for the same work, in percent: computing, and starting programs, on two
processors at once. Nothing but Python is needed.
"""

from __future__ import annotations

import subprocess
import sys
import time

THERE = 2.0  # seconds that a round took there
ROUNDS = 3
AT_ONCE = 2
TURNS = 12_000_000
STARTS = 1000


def work() -> None:
    """Compute, and start programs."""
    total = 0
    for number in range(TURNS):
        total = (total * 31 + number) & 0xFFFFFFFF
    for _ in range(STARTS):
        subprocess.run(("true",), check=True)


def measured() -> float:
    """Return the seconds of a round: the best of some, since others may be at work here for a moment."""
    rounds = []
    for _ in range(ROUNDS):
        begun = time.monotonic()
        workers = [subprocess.Popen((sys.executable, "-m", "tests.speed", "work")) for _ in range(AT_ONCE)]
        for each in workers:
            each.wait()
        rounds.append(time.monotonic() - begun)
    return min(rounds)


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        work()
    else:
        print(round(100 * measured() / THERE))
