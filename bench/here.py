"""What it costs a launcher that its trainer calls `here.progress` at every step, of which five a second are reported.

A report's cost: what the launcher takes in a window with reports, less that in one without, by their number. And what
the program itself takes for a call of `here.progress` and a step of `here.step`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path

from bench.gang import PODS, started
from bench.lives import CHILD, Ground, as_process_one, job
from bench.processes import Bell, Life, Unheard, bell, running
from bench.rows import Figure, Row

WINDOW = 4.0
SETTLED = 1.0
ROUNDS = 5
RATE = 5  # reports a second, as launcher/here.py holds it
PYTHON = (sys.executable, "-P", CHILD[-1])  # with site packages: among them is the launcher
STATUS_PORT = 7170
# The kernel's number of the clock that counts what all threads of a process have run, those that ended among them.
CPU_CLOCK = 2

CALLS = ("a report of progress", "a step of two phases", "a question whether all ends soon")

Costs = dict[str, float]


def here(ground: Ground) -> tuple[Row, ...]:
    """Return what a report costs: in a gang of one, and the leader and a member of three."""
    rounds = ground.rounds(ROUNDS, quick=1)
    allowed = ground.directory / "allowed"
    with bell(ground.directory) as hung:
        program = (*PYTHON, "report", str(hung.path), str(allowed))
        ground.progress("a gang of one")
        with running((*as_process_one(ground), *ground.ours, "--", *program), job(ground)) as life:
            hung.hear()
            one = _costs((life,), allowed, rounds)
        ground.progress(f"{PODS} pods")
        with started(ground, program) as lives:
            for _ in range(2 * PODS):  # each has a pserver, too
                hung.hear()
            leader, *members = _costs(lives, allowed, rounds)
        calls = _calls(ground, hung, rounds)
    who = {
        "a gang of one": one[0],
        f"{PODS} pods, the leader": leader,
        f"{PODS} pods, a member": [costs for member in members for costs in member],
    }
    launchers = tuple(
        Row(
            what=f"{name}: a report of progress, {RATE} a second: CPU of {what}",
            unit="ms",
            ours=Figure.of([costs[key] for costs in taken]),
            against="",
        )
        for name, taken in who.items()
        for key, what in (("main", "the launcher's main thread"), ("all", "the whole launcher"))
    )
    programs = (
        Row(what=f"a gang of one: {what}: time of the program", unit="us", ours=Figure.of(taken), against="")
        for what, taken in zip(CALLS, calls, strict=False)
    )
    return (*launchers, *programs)


def _calls(ground: Ground, hung: Bell, rounds: int) -> list[list[float]]:
    """Return the microseconds that a program takes for a report, for a step, and for a question."""
    ground.progress("a program that calls")
    program = (*PYTHON, "calls", str(hung.path), str(rounds))
    with running((*as_process_one(ground), *ground.ours, "--", *program), job(ground)):
        heard = [hung.hear()[1].split()[1:] for _ in range(rounds)]
    return [[float(each) for each in figures] for figures in zip(*heard, strict=True)]


def _costs(lives: Sequence[Life], allowed: Path, rounds: int) -> list[list[Costs]]:
    """Return what each launcher spends on a report, of some windows of time."""
    taken: list[list[Costs]] = [[] for _ in lives]
    told = [-1.0] * len(lives)
    for _ in range(rounds):
        silent = _window(lives)
        allowed.touch()
        busy = _window(lives)
        before, told = told, _steps(len(lives))
        if not all(late > early for early, late in zip(before, told, strict=True)):
            raise Unheard("the trainers' reports did not arrive at their launchers")
        allowed.unlink()
        for number, costs in enumerate(taken):
            costs.append({key: (busy[number][key] - silent[number][key]) / WINDOW / RATE for key in busy[number]})
    return taken


def _window(lives: Sequence[Life]) -> list[Costs]:
    time.sleep(SETTLED)
    begun = [_cpu(life.pid) for life in lives]
    time.sleep(WINDOW)
    ended = [_cpu(life.pid) for life in lives]
    return [{key: after[key] - before[key] for key in after} for before, after in zip(begun, ended, strict=True)]


def _cpu(pid: int) -> Costs:
    """Return the milliseconds on a core so far, of the main thread and of all together."""
    main = int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0])
    return {"main": main / 1e6, "all": time.clock_gettime(~pid << 3 | CPU_CLOCK) * 1e3}


def _steps(count: int) -> list[float]:
    """Return the step that each launcher was told last, -1 where it was told none."""
    found = []
    with ExitStack() as stack:
        for number in range(1, count + 1):
            wire = HTTPConnection(f"127.0.1.{number}", STATUS_PORT, timeout=5)
            stack.callback(wire.close)
            wire.request("GET", "/status")
            found.append(float(json.load(wire.getresponse())["status"]["marks"]["progress"].get("step", -1)))
    return found
