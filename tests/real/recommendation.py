"""A gang that trains examples/recommendation on generated ratings, and what its output says."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from launcher.pod.gang.store import passes
from launcher.pod.gang.store.record import on_volume
from tests.support.gangs import Gang, gang
from tests.support.lives import WITNESS
from tests.support.pods import JOB

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "recommendation"
NODES = 3
PASS = re.compile(r"^ Pass=(\d+) .*RMSE=(\S+)", re.MULTILINE)
# Paddle takes seconds to be imported, many of them when six processes do it at once on two cores.
ENVIRONMENT = {
    "PYTHONPATH": f"{WITNESS}:{ROOT}",
    "LAUNCHER_JOIN_TIMEOUT": "150",
    "LAUNCHER_REJOIN_TIMEOUT": "150",
    "LAUNCHER_PEER_TIMEOUT": "15",
    "LAUNCHER_GRACE": "5",
}


@contextmanager
def training(
    python: Path,
    top: Path,
    number: int,
    *flags: str,
    data: Sequence[str] = (),
    nodes: int = NODES,
    env: Mapping[str, str] | None = None,
    replaceable: bool = False,
) -> Iterator[Gang]:
    """Start nodes, each a pserver and a trainer, on data that is made if there is none yet.

    Replaceable ones are pods of the scripted API's, where the launcher is process 1.
    """
    make_data(top, *data)
    command = (str(python), str(EXAMPLE / "train.py"), f"--passes={number}", *flags)
    environ = {**ENVIRONMENT, **(env or {})}
    with gang(nodes, top, command=command, env=environ, api=replaceable, process_one=replaceable) as g:
        yield g


def make_data(top: Path, *flags: str) -> Path:
    """Make the job's shards unless they are there, and return the job's directory."""
    job = top / "volume" / JOB
    if not (job / "0").exists():
        words = (sys.executable, str(EXAMPLE / "make_data.py"), str(job), f"--shards={NODES}", *flags)
        subprocess.run(words, check=True, capture_output=True)
    return job


def errors(g: Gang, rank: int = 0) -> dict[int, float]:
    """Return the RMSE by pass, as a trainer told it, the last word of each."""
    return told((g.output / f"node_{rank}" / "train.log").read_text())


def told(log: str) -> dict[int, float]:
    """Return the RMSE by pass that a log tells of."""
    return {int(number): float(rmse) for number, rmse in PASS.findall(log)}


def constant(g: Gang) -> float:
    """Return the RMSE of who always says the mean of what is learned from."""
    job = g.volume / JOB
    learned, held_out = ([*_scores(job, name)] for name in ("ratings.dat", "held_out.dat"))
    mean = sum(learned) / len(learned)
    return math.sqrt(sum((score - mean) ** 2 for score in held_out) / len(held_out))


def complete(g: Gang) -> tuple[int, ...]:
    """Return the passes that the launcher holds complete."""
    return passes.complete(on_volume(PurePosixPath(g.volume), JOB, "output"))


def child_codes(g: Gang) -> list[tuple[str, int]]:
    """Return the name and the exit code of each program that ended."""
    ends = (event for each in g.places for event in each.events("child_exited"))
    return sorted((event["child"], event["code"]) for event in ends)


def await_pass(g: Gang, number: int, timeout: float = 150) -> None:
    """Wait until this pass is complete on the volume: the trainers are in the next one."""
    g.wait(lambda: number in complete(g), timeout)


def await_step(g: Gang, number: int, step: int, timeout: float = 150) -> None:
    """Wait until trainer 0 is in the middle of this pass."""
    g.wait(lambda: _reached(g, number, step), timeout)


def _reached(g: Gang, number: int, step: int) -> bool:
    told = g.launcher(0).status().get("marks", {}).get("progress", {})
    return (told.get("pass", -1), told.get("step", 0)) >= (number, step)


def _scores(job: Path, name: str) -> Iterator[float]:
    for path in job.glob(f"*/data/{name}"):
        for line in path.read_text(encoding="latin-1").splitlines():
            yield float(line.split("::")[2])
