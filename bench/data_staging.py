"""A shard on its way into a pod, verified, against copies that are not: large, in many files, and from afar."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.data_peers import MEGABYTE, row, rsync, timed
from bench.data_volume import late_volume
from bench.lives import Ground
from bench.processes import Unheard
from bench.rows import Measure, Row, Values, in_turns, rows
from launcher.contract import MANIFEST
from launcher.dataset.manifest import Entry, Manifest

ROUNDS = 3
RSYNC_GOAL, LATE_GOAL = 1.2, 5.0
SMALL_GOAL = 1.0 / 0.66  # of what cp takes unverified: about 1.0 s where that takes 0.66
LATE = 2.0  # milliseconds
LARGE, SMALL, FAR = "a file of 2 GiB", "10,000 small files", "600 files, 2 ms late for each operation"
CP, RSYNC = "cp -rf", "rsync"


def staging(ground: Ground) -> tuple[Row, ...]:
    """Return the rows of staging."""
    shrunk = 8 if ground.quick else 1
    kinds: dict[str, Callable[[], Path]] = {
        LARGE: lambda: _laid_out(ground, 1, (2 << 30) // shrunk),
        SMALL: lambda: _laid_out(ground, 10_000 // shrunk, 36_000),
        FAR: lambda: _laid_out(ground, 600, 36_000),
    }
    return tuple(row for kind, lay_out in kinds.items() for row in _staged(ground, kind, lay_out()))


def _staged(ground: Ground, kind: str, volume: Path) -> tuple[Row, ...]:
    if kind != FAR:
        return _compared(ground, kind, volume)
    if not ground.root:
        return (row(f"verified staging, {kind}", "s", note="not root"),)
    with late_volume(volume, ground.directory / "late", LATE):
        return _compared(ground, kind, ground.directory / "late")


def _compared(ground: Ground, kind: str, volume: Path) -> tuple[Row, ...]:
    shard, work = volume / "job/0/data", ground.directory / "work"
    measures: dict[str, Measure] = {
        "ours": lambda: _stage(volume, work),
        CP: lambda: {"s": timed(("cp", "-rf", f"{shard}/.", str(work)), work, fresh=True)},
    }
    if path := rsync():
        measures[RSYNC] = lambda: {"s": timed((path, "-a", f"{shard}/", str(work)), work, fresh=True)}
    figures = in_turns(measures, ground.rounds(ROUNDS, 1), ground.progress)
    # The goals are times of the peers' in this very run.
    goal = figures[CP]["s"].median * SMALL_GOAL if kind == SMALL else None
    if kind == LARGE and RSYNC in figures:
        goal = figures[RSYNC]["s"].median / RSYNC_GOAL
    if kind == FAR:
        goal = figures[CP]["s"].median / LATE_GOAL
    return rows(row(f"verified staging, {kind}", "s", goal=goal), "s", figures, (CP, RSYNC))


def _laid_out(ground: Ground, files: int, size: int) -> Path:
    """Return a volume with a shard and its manifest."""
    volume = ground.directory / "volume"
    shutil.rmtree(volume, ignore_errors=True)
    block = os.urandom(min(size, 64 * MEGABYTE))
    entries = []
    for number in range(files):
        name = f"0/data/{number % 10}/part-{number:05d}"
        path = volume / "job" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        digest, left = hashlib.sha256(), size
        with path.open("wb") as file:
            while left:
                part = block[:left]
                file.write(part)
                digest.update(part)
                left -= len(part)
        entries.append(Entry(name, size, digest.hexdigest(), 1))
    (volume / "job" / MANIFEST).write_text(Manifest("bench", 1, entries).text())
    return volume


def _stage(volume: Path, work: Path) -> Values:
    work.mkdir()
    os.sync()
    argv = (sys.executable, "-m", "bench.data_stage", str(volume), str(work))
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    seconds, files, verified = done.stdout.split()
    shutil.rmtree(work)
    if files != verified:
        raise Unheard(f"{verified} of {files} files were verified")
    return {"s": float(seconds)}
