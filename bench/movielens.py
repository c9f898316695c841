"""MovieLens-100K on three nodes and on one: how well unseen ratings are told. The data is not ours to pass on.

It is in a package of the registry, `recbole`, from where it is taken for as long as this runs.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from bench.lives import Ground
from bench.rows import Figure, Row
from bench.trained import trained
from tests.real import install

PACKAGE = "recbole==1.2.1"
FILES = [f"recbole/dataset_example/ml-100k/ml-100k.{kind}" for kind in ("inter", "user", "item")]
PASSES = 8
ROUNDS = 2
GOAL = 0.935
WHAT = f"MovieLens-100K, random 80/20: held-out RMSE after {PASSES} passes, 3 nodes"
MINUTES = 300


def movielens(ground: Ground) -> tuple[Row, ...]:
    """Return the error of three nodes beside that of one."""
    try:
        python = install.python()
        source = _ratings(ground.directory)
    except (install.NotHere, subprocess.SubprocessError) as error:
        return (Row(what=WHAT, unit="", ours=None, against="", note=f"not to be had: {error}"),)
    found: dict[int, list[float]] = {3: [], 1: []}
    for number in range(ground.rounds(ROUNDS, quick=1)):
        for nodes, errors in found.items():
            ground.progress(f"round {number + 1}: {nodes} of 3 nodes")
            directory = ground.directory / f"{nodes}-{number}"
            errors.append(trained(directory, python, nodes, PASSES, f"--from={source}").rmse)
    ours, one = Figure.of(found[3]), Figure.of(found[1])
    return (Row(what=WHAT, unit="", ours=ours, against="1 node", peer=one, goal=GOAL),)


def _ratings(directory: Path) -> Path:
    """Return the directory of MovieLens-100K's files in RecBole's form."""
    words = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", f"--dest={directory}", PACKAGE)
    subprocess.run(words, check=True, capture_output=True, timeout=MINUTES)
    (wheel,) = directory.glob("recbole-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory, FILES)
    return (directory / FILES[0]).parent
