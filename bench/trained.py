"""One training of examples/recommendation on real parameter servers, measured; each node is a launcher here."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from bench.lives import START_PADDLE
from bench.processes import Life, Unheard, memory, running

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "recommendation"
JOB = "job"
PORT = 7164
LISTENS = "0A"
LOOK_AGAIN, RARELY = 0.02, 0.5
PATIENCE = 300.0
# All that a launcher can look for.
LOOKING = {"LAUNCHER_STALL_TIMEOUT": "120", "LAUNCHER_PROGRESS_TIMEOUT": "120", "LAUNCHER_NAN": "fail"}
RMSE = re.compile(r"^ Pass=\d+ .*RMSE=(\S+)", re.MULTILINE)
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """What a training took: seconds of each pass after the first, saved; CPU; the launchers' own wall time."""

    passes: Sequence[float]
    rmse: float
    cpu: float
    launchers_cpu: float
    launchers_each_second: float  # of CPU, for one of them, from the pservers' readiness to the end
    launchers_memory: float  # megabytes, of the largest, at the most
    launchers_wall: float  # besides staging, and what they wait for Paddle to be imported and to train


def trained(directory: Path, python: Path, nodes: int, passes: int, *data: str) -> Trained:
    """Train on so many nodes, with data that is made as the flags of make_data.py say, and measure it."""
    job = directory / "volume" / JOB
    made = (sys.executable, str(EXAMPLE / "make_data.py"), str(job), f"--shards={nodes}", *data)
    subprocess.run(made, check=True, capture_output=True)
    addresses = [f"127.0.1.{number}" for number in range(1, nodes + 1)]
    command = (START_PADDLE, "--", str(python), str(EXAMPLE / "train.py"), f"--passes={passes}")
    said = [directory / f"said-{address}" for address in addresses]
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("wb")) for path in said]
        begun = time.time()
        lives = [
            stack.enter_context(running(command, _settings(directory, address, addresses), errors=file.fileno()))
            for address, file in zip(addresses, files, strict=True)
        ]
        serving = _await_ports(lives, addresses)
        by_then = sum(_cpu(life)[0] for life in lives)
        memory_of_each = _memory_until_the_end(lives)
        spent = [_spent(life, path) for life, path in zip(lives, said, strict=True)]
        ended = time.time()
    events = [json.loads(line) for path in said for line in path.read_text().splitlines() if line.startswith("{")]
    saved = sorted(path.stat().st_mtime for path in job.glob("output/pass-*/done"))
    told = RMSE.findall((job / "output" / "node_0" / "train.log").read_text())
    return Trained(
        passes=[later - earlier for earlier, later in pairwise(saved)],
        rmse=float(told[-1]),
        cpu=sum(own + children for own, children in spent),
        launchers_cpu=sum(own for own, _ in spent),
        launchers_each_second=(sum(own for own, _ in spent) - by_then) / nodes / (ended - serving),
        launchers_wall=_own_wall(events, begun, serving, ended),
        launchers_memory=max(memory_of_each),
    )


def _settings(directory: Path, address: str, addresses: Sequence[str]) -> dict[str, str]:
    work = directory / f"work-{address}"
    work.mkdir()
    return {
        "PYTHONPATH": str(ROOT),
        "JOB_NAME": JOB,
        "JOB_PATH": str(directory / "volume"),
        "LAUNCHER_WORKDIR": str(work),
        "LAUNCHER_RUNTIME": "fleet",
        "LAUNCHER_PEERS": f"static:{','.join(addresses)}",
        "LAUNCHER_MAX_RESTARTS": "0",
        **LOOKING,
        "CONF_PADDLE_GRADIENT_NUM": str(len(addresses)),
        "POD_IP": address,
    }


def _await_ports(lives: Sequence[Life], addresses: Sequence[str]) -> float:
    """Return when the last pserver was seen to listen, by the kernel's list, so that nobody is disturbed."""
    left = {_in_list(address) for address in addresses}
    while left and all(life.process.poll() is None for life in lives):
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        left -= {words[1] for words in lines if words[3] == LISTENS}
        time.sleep(LOOK_AGAIN if left else 0)
    return time.time()


def _in_list(address: str) -> str:
    """Return how /proc/net/tcp has an address with the pservers' port: as a number of this machine's."""
    number = int.from_bytes(bytes(map(int, address.split("."))), sys.byteorder)
    return f"{number:08X}:{PORT:04X}"


def _memory_until_the_end(lives: Sequence[Life]) -> Sequence[float]:
    """Wait until all launchers have ended, and return how much memory each had at the most."""
    peaks: dict[int, float] = {}
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        now = {}
        for life in lives:
            with suppress(KeyError):  # one that has ended has none
                now[life.process.pid] = memory(life.process.pid)["peak"]
        if not now:
            break
        peaks |= now
        time.sleep(RARELY)
    return tuple(peaks.values())


def _spent(life: Life, said: Path) -> tuple[float, float]:
    """Wait for a launcher's end, and return the seconds of CPU that it had, and those that its children had."""
    watched = os.pidfd_open(life.process.pid)
    try:
        ready, _, _ = select.select([watched], [], [], PATIENCE)
    finally:
        os.close(watched)
    if not ready:
        raise Unheard(f"a training did not end in {PATIENCE:g} s")
    spent = _cpu(life)  # nobody has reaped it yet, so that its figures are still there
    if code := life.process.wait():
        raise Unheard(f"a training ended with {code}: {said.read_text()[-500:]}")
    return spent


def _cpu(life: Life) -> tuple[float, float]:
    """Return the seconds of CPU of a launcher, and those of its children that have ended."""
    fields = Path(f"/proc/{life.process.pid}/stat").read_text().rpartition(")")[2].split()
    own, children = ((int(fields[at]) + int(fields[at + 1])) / TICKS for at in (11, 13))
    return own, children


def _own_wall(events: Sequence[dict[str, object]], begun: float, serving: float, ended: float) -> float:
    """Return the seconds to the pservers' start, from their readiness to the trainers' start, and at the end."""

    def last(event: str, child: str = "") -> float:
        return max(
            datetime.fromisoformat(str(each["timestamp"])).timestamp()
            for each in events
            if each["event"] == event and str(each.get("child", "")).startswith(child)
        )

    staging = max(float(each["seconds"]) for each in events if each["event"] == "staged")  # type: ignore[arg-type]
    before = last("child_started", "pserver") - begun - staging
    between = max(0.0, last("child_started", "trainer") - serving)
    return before + between + ended - last("child_exited")
