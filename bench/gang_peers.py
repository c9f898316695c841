"""Peers that are too large to be installed for a table: measured where a Python that has them is named."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.lives import CHILD
from bench.processes import Bell, running
from bench.rows import Measure, Values

TORCHRUN, PADDLE = "torchrun", "paddle.distributed.launch"
# Each variable names a Python that can import it.
VARIABLES = {TORCHRUN: "BENCH_TORCH", PADDLE: "BENCH_PADDLE"}
RANKS = 3
MOMENT = 0.2
Heard = dict[tuple[str, str, str], list[float]]


def peers(directory: Path, hung: Bell, leave: Path, falls: str) -> dict[str, Measure]:
    """Return how to measure those that are here: three ranks on this machine, of which one dies."""
    torch = ("-m", "torch.distributed.run", "--nnodes=1", f"--nproc-per-node={RANKS}", "--max-restarts=1")
    paddle = ("-m", "paddle.distributed.launch", f"--nproc_per_node={RANKS}", f"--log_dir={directory / 'paddle'}")
    child = (*CHILD[3:], "crew", str(hung.path), str(leave), falls)
    found: dict[str, Measure] = {}
    if python := os.environ.get(VARIABLES[TORCHRUN]):
        found[TORCHRUN] = partial(_fallen, (python, *torch, *child), hung, leave, restarts=True)
    if python := os.environ.get(VARIABLES[PADDLE]):
        found[PADDLE] = partial(_fallen, (python, *paddle, *child), hung, leave, restarts=False)
    return found


def _fallen(argv: Sequence[str], hung: Bell, leave: Path, *, restarts: bool) -> Values:
    hung.forget()
    with running(argv):
        heard(hung, RANKS)
        time.sleep(MOMENT)
        leave.write_text("\n")
        came = heard(hung, 1 + (RANKS - 1) + (RANKS if restarts else 0))
    died = next(times[0] for (what, _, _), times in came.items() if what == "died")
    values = {"others": max(times[-1] for (what, _, _), times in came.items() if what == "told") - died}
    if restarts:
        values["again"] = max(times[-1] for (what, _, _), times in came.items() if what == "up") - died
    return values


def heard(hung: Bell, number: int) -> Heard:
    """Return so many words, by what was said, by which role and where: when, in milliseconds."""
    found: Heard = {}
    for _ in range(number):
        at, what, role, place = hung.hear()[1].decode().split(" ")
        found.setdefault((what, role, place), []).append(int(at) / 1e6)
    return found
