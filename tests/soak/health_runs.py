"""One healthy run: an example on a gang of launchers that look for every trouble, and what they said of it."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from tests.real import install
from tests.real.planted.plans import ROOT
from tests.real.planted.runs import FOR_PROGRAMS, MEETING, SETTINGS, START, TURNS
from tests.real.recommendation import make_data
from tests.soak.health_plans import BY_CONFIG, QUICK_START, RECOMMENDATION, STAND_IN, WORD2VEC, HealthyPlan
from tests.support.gangs import Gang, gang
from tests.support.ledgers import unknown
from tests.support.lives import shell
from tests.support.pods import JOB

BOUND = 600.0
EXAMPLES = ROOT / "examples"
BIN = ROOT / "launcher" / "bridge" / "bin"
RATINGS = ("--ratings=24000", "--users=400", "--movies=300")
NO_FAULT = {"fault": "none", "role": "trainer", "ranks": [], "at": [0, 0], "lines": [], "slow_disk": ""}
V1_FLAGS = ("--config=./trainer_config.py", "--use_gpu=0", "--saving_period=1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Healthy:
    """What came of a run: its seconds, what was found out of it, and how often all were started again."""

    plan: HealthyPlan
    seconds: float
    alarms: tuple[str, ...]
    again: tuple[str, ...]
    unknown: float | None = None

    @property
    def false(self) -> int:
        """How many words about a trouble there were, and there was none."""
        return len(self.alarms) + len(self.again)


def run(plan: HealthyPlan, top: Path) -> Healthy:
    """Train it to its end, and return what the launchers said; a run that ends otherwise is an AssertionError."""
    begun = time.monotonic()
    with (top / "said").open("w") as said, redirect_stdout(said):
        python = Path(install.python(plan.example.environment) if plan.example.environment else sys.executable)
        command, more = _furnished(plan, top, python)
        environ = {**SETTINGS, **FOR_PROGRAMS, **_own(plan, top), **more}
        with gang(plan.nodes, top, command=command, env=environ) as g:
            _, message = g.verdict(BOUND)
            assert message == "every trainer is done", message
            return _found(plan, g, time.monotonic() - begun)


def _found(plan: HealthyPlan, g: Gang, seconds: float) -> Healthy:
    told = g.events()
    alarms = [f"{each['kind']}: {each['reason']}" for each in told if each["event"] == "alarm"]
    again = [each["cause"] for each in told if each["event"] == "generation_made" and each["cause"]]
    return Healthy(plan=plan, seconds=seconds, alarms=tuple(alarms), again=tuple(again), unknown=unknown(g))


def _own(plan: HealthyPlan, top: Path) -> dict[str, str]:
    """Return the environment of this run, and write the plan without a fault: it has the steps' pace alone."""
    facts = {**NO_FAULT, "pause": plan.pause, "chance": plan.pause, "steps": plan.steps}
    (top / "plan.json").write_text(json.dumps(facts))
    port = MEETING + 20 * random.randrange(TURNS)  # noqa: S311  # no secret
    return {
        "LAUNCHER_RUNTIME": plan.example.runtime,
        "LAUNCHER_PORTS": str(port),
        "PLANTED": str(top / "plan.json"),
    }


def _furnished(plan: HealthyPlan, top: Path, python: Path) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Make the job's files and data, and return the command and what else is in the environment."""
    example, folder = plan.example, EXAMPLES / plan.example.folder
    passes = f"--passes={plan.passes}"
    if example is RECOMMENDATION:
        make_data(top, *RATINGS)
        return (str(python), str(START), str(folder / "train.py"), passes), {}
    if example is WORD2VEC:
        _run(sys.executable, folder / "prepare.py", top / "data", "--lines=1600")
        words = (str(python), "train.py", f"--data={top / 'data'}", passes)
        return words, {"TRAIN_CONFIG_DIR": str(folder), "LAUNCHER_LOG_PREFIX": "off"}
    if example is QUICK_START:
        return _quick_start(plan, top, python)
    if example in (BY_CONFIG, STAND_IN):
        return _by_config(plan, top, python)
    return (str(python), str(START), str(folder / "train.py")), {}


def _by_config(plan: HealthyPlan, top: Path, python: Path) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """A v1 job: its files on the volume, `paddle` on PATH."""
    folder = EXAMPLES / plan.example.folder
    job = top / "volume" / JOB
    if plan.example is STAND_IN:
        _run(sys.executable, folder / "make_data.py", job, f"--shards={plan.nodes}", "--samples=6000")
        paddle = str(folder)
    else:
        make_data(top, *RATINGS)
        paddle = f"{BIN}:{python.parent}"
    shutil.copytree(folder, job / "files", ignore=shutil.ignore_patterns("__pycache__"))
    env = {"TRAIN_CONFIG_DIR": "files", "PATH": f"{paddle}:{os.environ['PATH']}"}
    return (*V1_FLAGS, f"--num_passes={plan.passes}"), env


def _quick_start(plan: HealthyPlan, top: Path, python: Path) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The scripts of the quick start, alone, with few reviews."""
    demo = shutil.copytree(EXAMPLES / "quick_start", top / "quick_start")
    reviews = demo / "data" / "reviews_Electronics_5.json.gz"
    _run(sys.executable, demo / "make_reviews.py", reviews, "--reviews=1500")
    _run(demo / "preprocess.sh")
    env = {"PATH": f"{BIN}:{python.parent}:{os.environ['PATH']}"}
    return shell('exec "$1" "$2"', demo / "train.sh", f"--num_passes={plan.passes}"), env


def _run(*words: object) -> None:
    subprocess.run([*map(str, words)], check=True, capture_output=True)
