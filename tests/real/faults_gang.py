"""Faults of a gang that trains: programs killed, a pod frozen, a node lost. Each run is a gang of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from tests.real.faults_table import Run
from tests.real.recommendation import NODES, await_pass, await_step, errors, make_data, training
from tests.support.gangs import Gang

PASSES = 20
# So little that a pass takes less than a second; these passes bring it to its plateau.
DATA = ("--ratings=24000", "--users=400", "--movies=300")
STEP = 5  # of 25 in a pass
FROZEN = 18.0  # seconds: longer than a member's lease (10), and than its leader waits for it (15)
BOUND = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is done to a gang, and the pods that it needs for that: those of a cluster can be replaced."""

    what: str
    deal: Callable[[Gang], None]
    replaced: bool = False


def kill(role: str, rank: int, g: Gang) -> None:
    """Kill a program."""
    g.launcher(rank).child(role).kill()


def freeze(rank: int, g: Gang) -> None:
    """Stop a launcher and its programs for longer than anybody waits for them, and let them go on."""
    launcher = g.launcher(rank)
    pod = psutil.Process(launcher.life.pid)
    stopped = (pod, *pod.children(recursive=True))
    for process in stopped:
        process.suspend()
    time.sleep(FROZEN)
    launcher.wakings.append(time.monotonic())
    for process in stopped:
        with suppress(psutil.NoSuchProcess):
            process.resume()


def lose(rank: int, g: Gang) -> None:
    """Kill a launcher and with it, since it is process 1, its programs; another pod takes the place."""
    g.launcher(rank).kill()
    g.replace(rank)


FAULTS = (
    *(Fault(what=f"trainer {rank} is killed", deal=partial(kill, "trainer", rank)) for rank in range(NODES)),
    *(Fault(what=f"pserver {rank} is killed", deal=partial(kill, "pserver", rank)) for rank in range(NODES)),
    Fault(what=f"the leader's pod is frozen for {FROZEN:g} s", deal=partial(freeze, 0)),
    Fault(what=f"a member's pod is frozen for {FROZEN:g} s", deal=partial(freeze, 1)),
    Fault(what="the leader's node is lost and replaced", deal=partial(lose, 0), replaced=True),
    Fault(what="a member's node is lost and replaced", deal=partial(lose, 2), replaced=True),
)


def run(python: Path, top: Path, fault: Fault | None = None, number: int = 0) -> Run:
    """Train to the end, with a fault in the middle of a pass, and return what came of it."""
    make_data(top, *DATA)
    begun = time.monotonic()
    replaceable = fault is not None and fault.replaced
    with training(python, top, PASSES, replaceable=replaceable) as g:
        if fault:
            await_pass(g, number - 1)
            await_step(g, number, STEP)
            fault.deal(g)
        codes = tuple(g.codes(BOUND))
        begins = [event["resume"] for event in g.events("generation_made")]
        return Run(
            what=fault.what if fault else "none",
            number=number if fault else None,
            codes=codes,
            errors=errors(g),
            seconds=g.last_end() - begun,
            after=tuple(begins[1:]),
        )
