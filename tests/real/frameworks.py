"""The examples without parameter servers: alone and on three local nodes, by one program, and what it learned."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.desk.rehearsal import show
from launcher.desk.rehearsal.python_env import Environment
from tests.real.install import FRAMEWORKS, LARGE

ROOT = Path(__file__).parents[2]
KILLED_ONCE = Path(__file__).with_name("killed_once.py")
PASSES = 5  # of every example
NODES = 3
JOB = "example"
AGAIN = re.compile(r"^all started again .*$", re.MULTILINE)
# Several programs on one machine that each take all its cores wait for each other.
ENVIRON = {"OMP_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A folder of examples/, its runtime, where it runs, and the held-out RMSE of five runs of one process.

    Those were with SEED = 1 to 5. How far they are apart is how much worse three nodes may be than their mean.
    """

    folder: str
    runtime: str
    alone: tuple[float, ...]
    environment: Environment = FRAMEWORKS

    @property
    def program(self) -> Path:
        """The file that every run runs, as it is."""
        return ROOT / "examples" / self.folder / "train.py"

    @property
    def worst(self) -> float:
        """What three nodes have to come to."""
        return sum(self.alone) / len(self.alone) + max(self.alone) - min(self.alone)


JAX = Example(folder="jax", runtime="jax", alone=(0.6151, 0.6175, 0.6201, 0.6131, 0.6198))
PADDLE = Example(folder="paddle_collective", runtime="paddle", alone=(0.6157, 0.6201, 0.6153, 0.6162, 0.6156))
XGBOOST = Example(folder="xgboost", runtime="xgboost", alone=(0.8552, 0.8496, 0.8591, 0.8621, 0.8594))
LIGHTGBM = Example(folder="lightgbm", runtime="lightgbm", alone=(0.8494, 0.8512, 0.8442, 0.8521, 0.8469))
TORCH = Example(folder="torch", runtime="torch", alone=(0.6206, 0.6187, 0.6157, 0.6127, 0.6196), environment=LARGE)
TENSORFLOW = Example(
    folder="tensorflow", runtime="tensorflow", alone=(0.6151, 0.6175, 0.6201, 0.6131, 0.6198), environment=LARGE
)
IN_CI = (JAX, PADDLE, XGBOOST, LIGHTGBM)
ALL = (TORCH, *IN_CI, TENSORFLOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What came of one: exit code, what was said, the RMSE by pass of each trainer, the passes that are complete."""

    code: int
    said: str
    errors: tuple[Mapping[int, float], ...]
    passes: tuple[str, ...]
    seconds: float

    @property
    def again(self) -> tuple[str, ...]:
        """A sentence for each time that all were started again."""
        return tuple(AGAIN.findall(self.said))

    @property
    def last(self) -> float:
        """The RMSE after the last pass, where the run came so far."""
        return self.errors[0].get(PASSES - 1, float("nan"))


def alone(example: Example, python: Path, top: Path) -> Run:
    """Run the program by `python` and nothing else."""
    environ = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    words = (str(python), str(example.program))
    return _run(words, top, {**environ, **ENVIRON}, top / "output", trainers=0)


def local(example: Example, python: Path, top: Path, *, port: int, killed: tuple[int, int, int] | None = None) -> Run:
    """Run it on three local nodes; `killed` is a rank, and the pass and step in which that one is killed, once."""
    entry = (str(python), *((str(KILLED_ONCE), *map(str, killed)) if killed else ()), "train.py")
    job = ("-jobname", JOB, "-runtime", example.runtime, "-parallelism", str(NODES), "-entry", " ".join(entry))
    place = ("-directory", str(top), "-port", str(port), str(example.program.parent))
    words = (sys.executable, "-m", "launcher.desk", "local", *job, *place)
    return _run(words, top.parent, {**os.environ, **ENVIRON}, top / "volume" / JOB / "output", trainers=NODES)


def _run(words: tuple[str, ...], cwd: Path, environ: Mapping[str, str], output: Path, *, trainers: int) -> Run:
    cwd.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    done = subprocess.run(words, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    logs = [output / f"node_{rank}" / "train.log" for rank in range(trainers)]
    texts = [log.read_text() for log in logs if log.exists()] or [done.stdout]
    return Run(
        code=done.returncode,
        said=done.stdout + done.stderr,
        errors=tuple(show.errors(text) for text in texts),
        passes=tuple(sorted(path.parent.name for path in output.glob("pass-*/done"))),
        seconds=time.monotonic() - begun,
    )
