"""The benchmarks by name, and the place in which one runs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.data import data
from bench.death import death
from bench.desk import desk
from bench.gang import gang
from bench.gang_waking import waking
from bench.here import here
from bench.idle import idle
from bench.injected import injected
from bench.lives import Ground
from bench.meet import meet
from bench.movielens import movielens
from bench.pfs import pfs
from bench.pump import pump
from bench.rows import Row
from bench.stacks import stacks
from bench.start import start
from bench.stop import stop
from bench.swarm import swarm
from bench.training import training
from bench.v1 import v1

BENCHMARKS: dict[str, Callable[[Ground], tuple[Row, ...]]] = {
    "start": start,
    "meet": meet,
    "stop": stop,
    "death": death,
    "gang": gang,
    "swarm": swarm,
    "waking": waking,
    "pump": pump,
    "idle": idle,
    "here": here,
    "stacks": stacks,
    "data": data,
    "desk": desk,
    "pfs": pfs,
    "injected": injected,
    "training": training,
    "v1": v1,
    "movielens": movielens,
}
# Those that can be measured against a commit, since they start a launcher by the address that every version has and
# import nothing of it, and in how many turns: more where a turn takes a second than where it takes ten.
TURNS = {"start": 30, "meet": 20, "stop": 30, "death": 30, "gang": 12, "pump": 12, "idle": 12, "here": 12}


def measured(
    name: str, *, quick: bool, progress: Callable[[str, str], None], tree: Path | None = None
) -> tuple[Row, ...]:
    """Run one benchmark in a directory of its own, with the launcher of a tree where one is given."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        return BENCHMARKS[name](ground(name, Path(directory), quick=quick, tree=tree, progress=progress))


def ground(
    name: str, directory: Path, *, quick: bool, tree: Path | None, progress: Callable[[str, str], None]
) -> Ground:
    """Return where a benchmark runs."""
    return Ground(
        directory=directory, quick=quick, root=os.geteuid() == 0, progress=partial(progress, name), tree=tree
    )
