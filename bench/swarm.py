"""A thousand members: one real launcher leads a swarm of them (`swarm_members`), from the last one's data to a fault.

What the leader does alone is measured; the members share the processors with it, and their part is told apart.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from typing import Any

import psutil

from bench.lives import Ground
from bench.processes import Unheard, running
from bench.rows import Figure, Row, Values
from bench.swarm_members import address_of, addresses
from launcher.contract import STATUS_PORT

SIZES = (200, 500, 1000)
QUICK_SIZE = 200
IN_ONE = 250  # members of a process
PEER = 15.0
GATHERING = 300.0  # until all members of the largest have come together on a busy machine
WINDOW = 20.0
TOLD_GOAL, FAULT_GOAL, CORE_GOAL, MEMORY_GOAL, WORD_GOAL = 2000, 500, 0.3, 80, 2048


def swarm(ground: Ground) -> tuple[Row, ...]:
    """Return what each size of a gang costs its leader, and how soon all know."""
    return tuple(
        row for size in ((QUICK_SIZE,) if ground.quick else SIZES) for row in _rows(size, _measured(ground, size))
    )


def _rows(size: int, found: Values) -> Iterator[Row]:
    largest = size == SIZES[-1]
    for key, what, unit, goal in (
        ("told", "the last one's data -> all are told of the generation", "ms", TOLD_GOAL),
        ("training", "the last one's data -> all train", "ms", None),
        ("told_cpu", "the last one's data -> all train: the leader's CPU", "ms", None),
        ("answered", "a fault -> the last answer of the leader is read", "ms", FAULT_GOAL),
        ("looked", "a fault -> the last member has looked", "ms", None),
        ("fault_cpu", "a fault -> the last member has looked: the leader's CPU", "ms", None),
        ("cores", f"the leader's CPU in {WINDOW:g} s of peace, of a core", "", CORE_GOAL),
        ("memory", "the leader's memory", "MB", MEMORY_GOAL),
        ("word", "what the leader says to each, without the members", "bytes", WORD_GOAL),
    ):
        figure = Figure.of([found[key]])
        yield Row(
            what=f"{size:,} members: {what}", unit=unit, ours=figure, against="", goal=goal if largest else None
        )


def _measured(ground: Ground, size: int) -> Values:
    ground.progress(f"{size} members")
    env = {
        "JOB_NAME": "swarm",
        "LAUNCHER_RUNTIME": "env",
        "LAUNCHER_PEERS": "static:" + ",".join(addresses(size)),
        "LAUNCHER_PEER_TIMEOUT": f"{PEER:g}",
        "LAUNCHER_WORKDIR": str(ground.directory),
        "POD_IP": address_of(0),
    }
    with running((*ground.ours, "--", "sleep", "1000"), env) as life, ExitStack() as stack:
        _asked(lambda: _status()["digest"])
        leader = _page("/status?boot=bench").decode()
        parts = [
            stack.enter_context(_part(first, min(IN_ONE, size - first), size, leader))
            for first in range(1, size, IN_ONE)
        ]
        _all(parts, "up")
        last = parts[-1]
        for each in parts:
            each.tell("stage 1" if each is last else "stage")
        _all(parts, "did stage")
        _asked(lambda: address_of(size - 1) in _status()["word"]["waiting"])
        process = psutil.Process(life.pid)
        begun = _cpu(process)
        last.tell("stage")
        staged = last.heard("did stage")
        told, training = _all(parts, "told of the generation"), _all(parts, "training")
        told_cpu = _cpu(process) - begun
        peace = _peace(process)
        word = len(_page("/status?boot=bench"))
        begun = _cpu(process)
        last.tell("fail")
        failed = last.heard("did fail")
        answered, looked = _all(parts, "told of the fault"), _all(parts, "looked at the fault")
        fault_cpu = _cpu(process) - begun
    times = {
        "told": told - staged,
        "training": training - staged,
        "answered": answered - failed,
        "looked": looked - failed,
        "told_cpu": told_cpu,
        "fault_cpu": fault_cpu,
    }
    return {**{key: each * 1e3 for key, each in times.items()}, "word": word, **peace}


def _peace(leader: psutil.Process) -> dict[str, float]:
    time.sleep(PEER / 3)
    before = _cpu(leader)
    time.sleep(WINDOW)
    return {"cores": (_cpu(leader) - before) / WINDOW, "memory": leader.memory_info().rss / 1e6}


def _cpu(process: psutil.Process) -> float:
    return float(sum(process.cpu_times()[:2]))


class Part:
    """One process of members: what it is told, and when all of its members had come to something."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._came: dict[str, float] = {}

    def tell(self, line: str) -> None:
        """Have it do something."""
        self._came.pop(f"did {line.split()[0]}", None)
        print(line, file=self._process.stdin, flush=True)

    def heard(self, what: str) -> float:
        """Return when all of its members had come to this."""
        while what not in self._came:
            line = self._process.stdout.readline() if self._process.stdout else ""
            if not line:
                raise Unheard(f"a process of members ended before all were {what}")
            said = json.loads(line)
            self._came[said["what"]] = said["at"]
        return self._came[what]


@contextmanager
def _part(first: int, count: int, size: int, leader: str) -> Iterator[Part]:
    words = [sys.executable, "-m", "bench.swarm_members", *map(str, (first, count, size)), leader]
    with subprocess.Popen(words, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        late = threading.Timer(2 * GATHERING, process.kill)
        late.start()
        try:
            yield Part(process)
        finally:
            late.cancel()
            process.kill()


def _all(parts: list[Part], what: str) -> float:
    return max(each.heard(what) for each in parts)


def _page(path: str) -> bytes:
    wire = HTTPConnection(address_of(0), STATUS_PORT, timeout=10)
    wire.request("GET", path, headers={"Connection": "close"})
    return wire.getresponse().read()


def _status() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_page("/status?boot=bench"))["status"]
    return found


def _asked(question: Any) -> Any:  # noqa: ANN401  # what the leader says
    """Return what the leader answers, once it is something."""
    until = time.monotonic() + GATHERING
    while time.monotonic() < until:
        with suppress(OSError, HTTPException, KeyError, TypeError):
            if found := question():
                return found
        time.sleep(0.05)
    raise Unheard("the leader did not come so far in time")
