"""What a launcher does while its child only sleeps: how often it wakes, and what that costs."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

from bench.lives import Ground, init, job, ringing, supervisord, tini
from bench.processes import Bell, Life, Unheard, bell, running
from bench.rows import Figure, Figures, Row, rows

WINDOW = 5.0
SETTLED = 2.0  # supervisord holds its child for started after a second
ROUNDS = 4
TINI, SUPERVISORD = "tini", "supervisord"


def idle(ground: Ground) -> tuple[Row, ...]:
    """Return how idle all are in the same windows of time: they sleep, so none disturbs another."""
    with bell(ground.directory) as hung, ExitStack() as stack:
        lives = _lives(ground, hung, stack)
        time.sleep(SETTLED)
        rounds = ground.rounds(ROUNDS, quick=1)
        taken = [_window(lives, f"window {number + 1} of {rounds}", ground) for number in range(rounds)]
    figures: Figures = {
        name: {key: Figure.of([window[name][key] for window in taken]) for key in ("wakes", "ms")} for name in lives
    }
    return tuple(
        row
        for name, title in (("ours", "init"), ("job", "a job's pod"))
        for key, what in (("wakes", f"{title}: wake-ups in 5 s"), ("ms", f"{title}: CPU in 5 s"))
        for row in rows(
            Row(what=what, unit="" if key == "wakes" else "ms", ours=None, against="", goal=0),
            key,
            {**figures, "ours": figures[name]},
            (TINI, SUPERVISORD),
        )
    )


def _lives(ground: Ground, hung: Bell, stack: ExitStack) -> dict[str, Life]:
    child = ringing(hung.path)
    lives = {
        "ours": stack.enter_context(running((*ground.ours, "--", *child), init(ground))),
        "job": stack.enter_context(running((*ground.ours, "--", *child), job(ground))),
    }
    if (path := tini()) and not ground.tree:
        lives[TINI] = stack.enter_context(running((path, "-s", "--", *child)))
    if (argv := supervisord(ground, hung.path)) and not ground.tree:
        lives[SUPERVISORD] = stack.enter_context(running(argv))
    for _ in lives:
        hung.hear()
    return lives


def _window(lives: dict[str, Life], title: str, ground: Ground) -> dict[str, dict[str, float]]:
    ground.progress(title)
    before = {name: so_far(life.pid) for name, life in lives.items()}
    time.sleep(WINDOW)
    after = {name: so_far(life.pid) for name, life in lives.items()}
    if dead := [name for name, life in lives.items() if life.process.poll() is not None]:
        raise Unheard(f"{dead} ended while they were to be idle")
    return {name: {key: after[name][key] - before[name][key] for key in after[name]} for name in lives}


def so_far(pid: int) -> dict[str, float]:
    """Return how often all threads together have waited, and how long they have run."""
    tasks = list(Path(f"/proc/{pid}/task").iterdir())
    waits = [
        int(line.split()[1])
        for task in tasks
        for line in (task / "status").read_text().splitlines()
        if line.startswith("voluntary_ctxt_switches")
    ]
    ran = [int((task / "schedstat").read_text().split()[0]) for task in tasks]
    return {"wakes": float(sum(waits)), "ms": sum(ran) / 1e6}
