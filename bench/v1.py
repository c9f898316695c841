"""What v1's parameter files cost: every saved pass has them besides its own, from which they are read back.

`paddle train` and `paddle pserver` on one node; the tables of examples/recommendation are as large as MovieLens-1M's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.lives import Ground
from bench.processes import Unheard, running
from bench.rows import Figure, Row
from bench.trained import EXAMPLE, JOB, ROOT
from bench.v1_timed import SAID
from tests.real import install

WHAT = "v1: the files by v1's names, for each saved pass"
BESIDE = "the rest of saving it"
PASSES = 6
MINUTES = 300
DATA = ("--ratings=60000", "--users=6040", "--movies=3900")
FLAGS = ("--config=./trainer_config.py", "--use_gpu=0", "--saving_period=1")
PADDLE = """#!/usr/bin/env python3
import runpy, sys
sys.path[0] = {root!r}
runpy.run_module("bench.v1_timed", run_name="__main__", alter_sys=True)
"""


def v1(ground: Ground) -> tuple[Row, ...]:
    """Return the seconds of both parts of saving a pass."""
    try:
        python = install.python()
    except install.NotHere as error:
        return (Row(what=WHAT, unit="s", ours=None, against="", note=f"no Paddle: {error}"),)
    saved = _saved(ground, python, 2 if ground.quick else PASSES)
    ours = Figure.of([names for _, names in saved])
    rest = Figure.of([whole - names for whole, names in saved])
    return (Row(what=WHAT, unit="s", ours=ours, against=BESIDE, peer=rest),)


def _saved(ground: Ground, python: Path, passes: int) -> list[tuple[float, float]]:
    """Train, and return of each pass the seconds that its saving took, and those of its files by v1's names."""
    job = ground.directory / "volume" / JOB
    words = (sys.executable, str(EXAMPLE / "make_data.py"), str(job), "--shards=1", *DATA)
    subprocess.run(words, check=True, capture_output=True)
    shutil.copytree(EXAMPLE, job / "recommendation", ignore=shutil.ignore_patterns("__pycache__"))
    said = ground.directory / "saved"
    errors = ground.directory / "errors"
    with errors.open("wb") as file:
        env = _settings(ground, python, said)
        with running((*ground.ours, *FLAGS, f"--num_passes={passes}"), env, errors=file.fileno()) as life:
            code = life.process.wait(MINUTES)
    if code:
        raise Unheard(f"a training ended with {code}: {errors.read_text()[-500:]}")
    found = [(float(whole), float(names)) for whole, names in map(str.split, said.read_text().splitlines())]
    if len(found) != passes:
        raise Unheard(f"{len(found)} of {passes} passes were saved")
    return found


def _settings(ground: Ground, python: Path, said: Path) -> dict[str, str]:
    """Return the settings of the only node; the first `paddle` on its PATH is ours, timed."""
    work, program = ground.directory / "work", ground.directory / "bin" / "paddle"
    work.mkdir()
    program.parent.mkdir()
    program.write_text(PADDLE.format(root=str(ROOT)))
    program.chmod(0o755)
    return {
        "PATH": f"{program.parent}:{python.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "JOB_NAME": JOB,
        "JOB_PATH": str(ground.directory / "volume"),
        "LAUNCHER_WORKDIR": str(work),
        "LAUNCHER_RUNTIME": "v1",
        "LAUNCHER_PEERS": "static:127.0.1.1",
        "LAUNCHER_MAX_RESTARTS": "0",
        "TRAIN_CONFIG_DIR": "recommendation",
        "POD_IP": "127.0.1.1",
        SAID: str(said),
    }
