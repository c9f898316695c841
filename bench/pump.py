"""A child's output on its way to a log file and to stdout: how much a second, and how late a line is."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.child import LINE
from bench.lives import CHILD, Ground, job
from bench.processes import Life, Unheard, running
from bench.rows import Measure, Row, Values, rows

RATE_GOAL, LATE_GOAL = 200, 1
ROUNDS = 5
BLOCK = 1 << 20
TEE = "tee"
PIPELINE = '"$@" | tee "$0"'


def pump(ground: Ground) -> tuple[Row, ...]:
    """Return throughput with one child and with two, and the lateness of lines."""
    return (*_throughput(ground), *_lateness(ground))


def _throughput(ground: Ground) -> tuple[Row, ...]:
    size = (256 if ground.quick else 1024) * 1024 * 1024 // len(LINE) // 2 * len(LINE) * 2
    ours: dict[str, Measure] = {"ours": lambda: _one(ground, size), "two": lambda: _two(ground, size)}
    peers: dict[str, Measure] = {TEE: lambda: _tee(ground, size)}
    figures = ground.in_turns(ours, peers, ROUNDS)
    unit = Row(what="", unit="MB/s", ours=None, against="", goal=RATE_GOAL, more=True)
    kinds = {
        "ours": "output to a log and stdout, one child, no prefix",
        "two": "output to two logs and stdout, two children, each line prefixed",
    }
    return tuple(
        row
        for name, what in kinds.items()
        for row in rows(_named(unit, what), "rate", {**figures, "ours": figures[name]}, (TEE,))
    )


def _one(ground: Ground, size: int) -> Values:
    argv = (*ground.ours, "--", *CHILD, "flood", str(size))
    with running(argv, job(ground), output=subprocess.PIPE) as life:
        return _drained(life, ground, size=size, shown=size)


def _two(ground: Ground, size: int) -> Values:
    """Let a pserver and a trainer write half each, side by side."""
    meeting = ground.directory / "meeting"
    os.mkfifo(meeting)
    argv = (*ground.ours, "--", *CHILD, "flood", str(size // 2), str(meeting))
    marks = size // 2 // len(LINE) * len("[pserver 0] " + "[trainer 0] ")
    try:
        with running(argv, job(ground, runtime="fleet"), output=subprocess.PIPE) as life:
            return _drained(life, ground, size=size, shown=size + marks)
    finally:
        meeting.unlink()


def _tee(ground: Ground, size: int) -> Values:
    log = ground.directory / "volume" / "tee.log"
    log.parent.mkdir(exist_ok=True)
    argv = ("sh", "-c", PIPELINE, str(log), *CHILD, "flood", str(size))
    with running(argv, output=subprocess.PIPE) as life:
        return _drained(life, ground, size=size, shown=size)


def _drained(life: Life, ground: Ground, *, size: int, shown: int) -> Values:
    """Read all, from the first byte to the end of the process, and hold that nothing is missing anywhere."""
    descriptor = _stdout(life)
    received = len(os.read(descriptor, BLOCK))
    begun = time.monotonic()
    while block := os.read(descriptor, BLOCK):
        received += len(block)
    took = life.ended() - begun
    kept = _kept(ground.directory / "volume")
    if (received, kept) != (shown, size):
        raise Unheard(f"{shown} bytes were to come out and {size} to be kept: {received} and {kept} were")
    return {"rate": size / took / 1e6}


def _kept(volume: Path) -> int:
    """Return the size of all logs, and remove them."""
    size = sum(path.stat().st_size for path in volume.rglob("*.log"))
    shutil.rmtree(volume)
    return size


def _lateness(ground: Ground) -> tuple[Row, ...]:
    lines = 200 if ground.quick else 500
    tick = (*CHILD, "tick", str(lines))
    log = ground.directory / "tee.log"
    ours: dict[str, Measure] = {"ours": lambda: _late((*ground.ours, "--", *tick), job(ground))}
    peers: dict[str, Measure] = {TEE: lambda: _late(("sh", "-c", PIPELINE, str(log), *tick), {})}
    figures = ground.in_turns(ours, peers, ROUNDS)
    middle = Row(what="a line's way to stdout, median", unit="ms", ours=None, against="", goal=LATE_GOAL)
    slow = Row(what="a line's way to stdout, 99th percentile", unit="ms", ours=None, against="")
    return (*rows(middle, "median", figures, (TEE,)), *rows(slow, "slow", figures, (TEE,)))


def _late(argv: Sequence[str], env: Mapping[str, str]) -> Values:
    late = []
    with running(argv, env, output=subprocess.PIPE) as life:
        descriptor = _stdout(life)
        while block := os.read(descriptor, BLOCK):
            now = time.monotonic_ns()
            late += [(now - int(line)) / 1e6 for line in block.split()]
    return {"median": statistics.median(late), "slow": statistics.quantiles(late, n=100)[98]}


def _stdout(life: Life) -> int:
    if life.process.stdout is None:
        raise Unheard("its output was to come here")
    return life.process.stdout.fileno()


def _named(row: Row, what: str) -> Row:
    return Row(what=what, unit=row.unit, ours=None, against="", goal=row.goal, more=row.more)
