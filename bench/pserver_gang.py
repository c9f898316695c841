"""Pservers and one trainer on this machine's loopback, without a launcher, for as long as a training takes."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from launcher.bridge.fleet_role import SERVERS

PATIENCE, FAREWELL = 90, 5
ROOT = Path(__file__).resolve().parent.parent
SAID = re.compile(r"SAID (\{.*\})")
TESTED = re.compile(r"\] +Pass=(\d+) Batch=\d+ samples=\d+ AvgCost=\S+\n.*\] +Test samples=\d+ cost=(\S+)")  # v1's


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a gang ended: codes (124: the trainer was not done in time), the held-out error by pass, and all words."""

    trainer: int
    pservers: tuple[int | None, ...]
    errors: Mapping[int, float]
    words: str
    seconds: float


def train(serve: Sequence[str], learn: Sequence[str], pservers: int, logs: Path, cwd: Path = ROOT) -> Ended:
    """Run a gang to its end; a word's {hosts} and {port} are filled in."""
    begun = time.monotonic()
    hosts = tuple(f"127.0.0.{place}" for place in range(2, 2 + pservers))
    with socket.create_server(("", 0)) as free:  # on each of them
        port = free.getsockname()[1]
    endpoints = tuple(f"{host}:{port}" for host in hosts)
    fill = {"hosts": ",".join(hosts), "port": str(port)}
    logs.mkdir(parents=True)
    started = [
        _start([word.format(**fill) for word in argv], endpoints, rank, logs, cwd)
        for argv, rank in ((learn, None), *((serve, rank) for rank in range(pservers)))
    ]
    try:
        code, *codes = (_waited(each, FAREWELL if at else PATIENCE) for at, each in enumerate(started))
    finally:
        for each in started:
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait()
    words = "".join(path.read_text(errors="replace") for path in sorted(logs.iterdir()))
    return Ended(
        trainer=124 if code is None else code,
        pservers=tuple(codes),
        errors=_errors(words),
        words=words,
        seconds=time.monotonic() - begun,
    )


def _errors(words: str) -> dict[int, float]:
    found = [json.loads(text) for text in SAID.findall(words)]
    costs = {int(number): float(cost) ** 0.5 for number, cost in TESTED.findall(words)}
    return costs or {each["number"]: each["error"] for each in found}


def _waited(process: subprocess.Popen[bytes], patience: float) -> int | None:
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        return None


def _start(
    argv: Sequence[str], endpoints: tuple[str, ...], rank: int | None, logs: Path, cwd: Path
) -> subprocess.Popen[bytes]:
    """Start a pserver, or the trainer, which has no rank among them."""
    host, _, port = endpoints[rank or 0].rpartition(":")
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TRAINING_ROLE": "TRAINER" if rank is None else "PSERVER",
        "PADDLE_TRAINER_ID": "0",
        "PADDLE_TRAINERS_NUM": "1",
        SERVERS: ",".join(endpoints),
        "POD_IP": host,
        "PADDLE_PORT": port,
    }
    with (logs / ("trainer" if rank is None else f"pserver-{rank}")).open("wb") as log:
        return subprocess.Popen(
            ["nice", "-n", "5", *argv], cwd=cwd, env=environ, stdout=log, stderr=log, start_new_session=True
        )
