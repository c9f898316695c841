"""examples/recommendation as a job's files and shards on a volume, and what its logs say of the errors."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.manifests import ROOT

EXAMPLE = ROOT / "examples" / "recommendation"
IN_THE_IMAGE = "/root/paddle/demo/recommendation"
RATINGS = 30_000
# Of the RMSE, below the constant predictor's, which is 1.1: the passes of a test come to 0.75 or less.
MARGIN = 0.25
PASS = re.compile(r"^ Pass=(\d+) .*RMSE=(\S+)", re.MULTILINE)
V1_PASS = re.compile(r" Pass=(\d+) Batch=.*\n.* Test samples=\d+ cost=(\S+)")


def furnish(job: Path, *flags: str) -> None:
    """Put the example's files and generated shards into a job's directory, open to any user."""
    _furnish(job, EXAMPLE / "make_data.py", job, f"--ratings={RATINGS}", *flags)


def furnish_split(job: Path, shards: int) -> None:
    """Put the example's files there, and shards whose files have names of their own: a pod may have several."""
    words = ("--out", job, "--shards", shards, "--config-dir", "recommendation", "--samples", RATINGS)
    _furnish(job, "-m", "launcher.dataset", "split", *words)
    (job / "output").chmod(0o777)


def _furnish(job: Path, *words: object) -> None:
    files = job / "recommendation"
    files.mkdir(parents=True, exist_ok=True)
    for path in EXAMPLE.glob("*.py"):
        shutil.copy(path, files)
    for shard in job.glob("[0-9]*"):
        shutil.rmtree(shard)
    python = [sys.executable, *map(str, words)]
    subprocess.run(python, cwd=ROOT, check=True, capture_output=True, timeout=60)


def errors(log: str) -> dict[int, float]:
    """Return the RMSE over all held-out ratings by pass, as train.py or the v1 command told it last."""
    told = {int(number): float(rmse) for number, rmse in PASS.findall(log)}
    return told or {int(number): math.sqrt(float(cost)) for number, cost in V1_PASS.findall(log)}


def constant(job: Path) -> float:
    """Return the RMSE of who always says the mean of what is learned from."""
    learned, held_out = ([*_scores(job, name)] for name in ("ratings.dat", "held_out.dat"))
    mean = sum(learned) / len(learned)
    return math.sqrt(sum((score - mean) ** 2 for score in held_out) / len(held_out))


def _scores(job: Path, name: str) -> Iterator[float]:
    for path in job.rglob(name):
        for line in path.read_text(encoding="latin-1").splitlines():
            yield float(line.split("::")[2])
