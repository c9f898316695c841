"""From a child's death to the moment when its sibling in the same pod has been told to end."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.lives import CHILD, Ground, as_process_one, job, program, where
from bench.processes import Bell, bell, running
from bench.rows import Measure, Row, Values, rows

GOAL = 10
ROUNDS = 15
HONCHO = "honcho"


def death(ground: Ground) -> tuple[Row, ...]:
    """Return how soon a pserver knows that its trainer died."""
    leave = ground.directory / "leave"
    os.mkfifo(leave)
    with bell(ground.directory) as hung:
        words = (*CHILD, "fall", str(hung.path), str(leave))
        pod = (*as_process_one(ground), *ground.ours, "--", *words)
        ours: dict[str, Measure] = {"ours": lambda: _fallen(pod, job(ground, runtime="fleet"), hung, leave)}
        peers: dict[str, Measure] = {}
        if argv := _honcho(ground, words):
            peers[HONCHO] = lambda: _fallen(argv, {}, hung, leave)
        figures = ground.in_turns(ours, peers, ROUNDS)
    what = f"a trainer's death -> its pserver has TERM, {where(ground)}"
    return rows(Row(what=what, unit="ms", ours=None, against="", goal=GOAL), "ms", figures, (HONCHO,))


def _fallen(argv: Sequence[str], env: Mapping[str, str], hung: Bell, leave: Path) -> Values:
    with running(argv, env):
        hung.hear()  # the pserver is ready to be told
        leave.write_text("\n")
        died, told = (int(hung.hear()[1]) for _ in range(2))
    return {"ms": (told - died) / 1e6}


def _honcho(ground: Ground, words: Sequence[str]) -> tuple[str, ...] | None:
    path = program(HONCHO)
    if path is None:
        return None
    procfile = ground.directory / "Procfile"
    command = " ".join(words)
    roles = {"one": "PSERVER", "two": "TRAINER"}
    procfile.write_text("".join(f"{name}: exec env TRAINING_ROLE={role} {command}\n" for name, role in roles.items()))
    return (path, "start", "-f", str(procfile))
