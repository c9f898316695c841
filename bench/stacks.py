"""Where a hundred Pythons stand: asked for in the leader's pod, and beside it a tool that stops each to read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import psutil

from bench.lives import Ground, program
from bench.rows import Row, Values, rows
from tests.support.gangs import Gang, gang
from tests.support.lives import CHILDREN

PODS, PROCESSES = 4, 25
ALL = PODS * PROCESSES
DIFFERS = 57  # the rank that stands elsewhere
ROUNDS = 12
GOAL = 1000
PATIENCE = 120.0
PY_SPY = "py-spy"
COMMAND = (sys.executable, str(CHILDREN / "halting.py"), str(DIFFERS))


def stacks(ground: Ground) -> tuple[Row, ...]:
    """Return how long the whole command takes that `paddlectl stacks` runs in the leader's pod."""
    env = {"LAUNCHER_RUNTIME": "env", "LAUNCHER_PROCESSES": str(PROCESSES)}
    ground.progress(f"{ALL} Pythons start")
    with gang(PODS, ground.directory, command=COMMAND, env=env) as g:
        g.wait(lambda: _is_standing(_asked(g)), PATIENCE)
        pids = _programs(g)
        tool = program(PY_SPY) if ground.root else None
        peers = {PY_SPY: lambda: _read_by(str(tool), pids)} if tool else {}
        figures = ground.in_turns({"ours": lambda: _timed(g)}, peers, ROUNDS)
        for each in g.places:
            each.life.kill()
    row = Row(
        what=f"where {ALL} Pythons in {PODS} pods stand, and who differs: the command in the leader's pod",
        unit="ms", ours=None, against="", goal=GOAL,
    )  # fmt: skip
    return rows(row, "ms", figures, (PY_SPY,))


def _programs(g: Gang) -> list[int]:
    below = [child for each in g.places for child in psutil.Process(each.life.pid).children(recursive=True)]
    found = [each.pid for each in below if COMMAND[1] in each.cmdline()]
    if len(found) != ALL:
        raise RuntimeError(f"{len(found)} programs of {ALL} were found")
    return found


def _asked(g: Gang) -> dict[str, Any]:
    env = {**os.environ, "POD_IP": g.address(0)}
    agent = (sys.executable, "-m", "launcher.stacks")
    done = subprocess.run(agent, env=env, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _is_standing(told: dict[str, Any]) -> bool:
    """Return whether all stand where they do for ever: one reads, the others wait for it."""
    programs = told.get("programs", ())
    waiting = {
        each["rank"] for each in programs if each["waits"] and each["where"].startswith("barrier at halting.py")
    }
    return len(programs) == ALL and waiting == set(range(ALL)) - {DIFFERS}


def _timed(g: Gang) -> Values:
    begun = time.monotonic()
    told = _asked(g)
    took = time.monotonic() - begun
    if not _is_standing(told):
        raise RuntimeError(f"not all were found where they stand: {told}")
    return {"ms": took * 1e3}


def _read_by(tool: str, pids: list[int]) -> Values:
    """Read the same processes one after the other, each by its pid, which takes a right over them."""
    begun = time.monotonic()
    found = [subprocess.run((tool, "dump", "--pid", str(pid)), capture_output=True, check=False) for pid in pids]
    took = time.monotonic() - begun
    if seen := [each.stderr.decode() for each in found if b"halting.py" not in each.stdout]:
        raise RuntimeError(f"{len(seen)} of {len(pids)} were not read: {seen[0]}")
    return {"ms": took * 1e3}
