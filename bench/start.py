"""From the start of an init to its child's first act, and the memory that it then has; the same for a pod of a job.

Every child here is the same shell that rings a bell; started with nothing before it, it shows what of each figure is
its own and the measuring's.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from bench.lives import Ground, as_process_one, init, job, ringing, tini, where
from bench.processes import AS_PROCESS_ONE, Bell, bell, memory, running
from bench.rows import Measure, Row, Values, rows

START_GOAL, MEMORY_GOAL = 150, 30
ROUNDS = 15
NOTHING = "nothing before the child"
TINI = "tini"
PYTHON = "python alone"


def start(ground: Ground) -> tuple[Row, ...]:
    """Return how an init starts, as an ordinary process and as process 1, and how a pod of a job does."""
    with bell(ground.directory) as hung:
        found = (*_init(ground, hung, ()), *_job(ground, hung))
        if ground.root:
            return (*_init(ground, hung, AS_PROCESS_ONE), *found)
    reason = Row(
        what="init as process 1: start to the child's exec", unit="ms", ours=None, against=TINI, note="not root"
    )
    return (reason, *found)


def started(argv: Sequence[str], env: Mapping[str, str], hung: Bell) -> Values:
    """Start once, wait for the bell, and return the milliseconds until then and the memory."""
    with running(argv, env) as life:
        heard, _ = hung.hear()
        return {"ms": (heard - life.begun) * 1e3, **memory(life.pid)}


def python(hung: Bell, first: str = "pass") -> tuple[str, ...]:
    """Return a Python that does something, rings and sleeps."""
    program = f"{first}\nimport time; open({str(hung.path)!r}, 'w').write('\\n'); time.sleep(1000)"
    return (sys.executable, "-c", program)


def _init(ground: Ground, hung: Bell, before: Sequence[str]) -> tuple[Row, ...]:
    child = ringing(hung.path)
    ours: dict[str, Measure] = {"ours": lambda: started((*before, *ground.ours, "--", *child), init(ground), hung)}
    peers: dict[str, Measure] = {NOTHING: lambda: started((*before, *child), {}, hung)}
    if path := tini():
        orphans = () if before else ("-s",)
        peers[TINI] = lambda: started((*before, path, *orphans, "--", *child), {}, hung)
    figures = ground.in_turns(ours, peers, ROUNDS)
    name = "init as process 1" if before else "init as an ordinary process"
    time = Row(what=f"{name}: start to the child's exec", unit="ms", ours=None, against="", goal=START_GOAL)
    now = Row(what=f"{name}: memory while idle (RSS)", unit="MB", ours=None, against="", goal=MEMORY_GOAL)
    peak = Row(what=f"{name}: memory at the most", unit="MB", ours=None, against="")
    return (
        *rows(time, "ms", figures, (TINI, NOTHING)),
        *rows(now, "rss", figures, (TINI,)),
        *rows(peak, "peak", figures, (TINI,)),
    )


def _job(ground: Ground, hung: Bell) -> tuple[Row, ...]:
    before = as_process_one(ground)
    argv = (*before, *ground.ours, "--", *ringing(hung.path))
    ours: dict[str, Measure] = {"ours": lambda: started(argv, job(ground), hung)}
    peers: dict[str, Measure] = {PYTHON: lambda: started((*before, *python(hung)), {}, hung)}
    figures = ground.in_turns(ours, peers, ROUNDS)
    name = f"a job's pod, peers listed, {where(ground)}"
    time = Row(what=f"{name}: start to the trainer's exec", unit="ms", ours=None, against="", goal=START_GOAL)
    now = Row(what=f"{name}: memory while training (RSS)", unit="MB", ours=None, against="", goal=MEMORY_GOAL)
    peak = Row(what=f"{name}: memory at the most", unit="MB", ours=None, against="")
    return (
        *rows(time, "ms", figures, (PYTHON,)),
        *rows(now, "rss", figures, (PYTHON,)),
        *rows(peak, "peak", figures, (PYTHON,)),
    )
