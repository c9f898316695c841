"""From SIGTERM to the end, with a child that obeys at once."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from bench.lives import INIT, START_PADDLE, Ground, job, ringing, supervisord, tini
from bench.processes import AS_PROCESS_ONE, Bell, bell, running
from bench.rows import Measure, Row, Values, in_turns, rows

GOAL = 10
ROUNDS = 15
TINI, SUPERVISORD = "tini", "supervisord"
SETTLED = 0.1  # after the child's first act the launcher still goes to sleep


def stop(ground: Ground) -> tuple[Row, ...]:
    """Return how fast an init ends, and a job's launcher."""
    with bell(ground.directory) as hung:
        found = _ordinary(ground, hung)
        return (*found, *_process_one(ground, hung)) if ground.root else found


def _ordinary(ground: Ground, hung: Bell) -> tuple[Row, ...]:
    child = ringing(hung.path)
    ours = (START_PADDLE, "--", *child)
    measures: dict[str, Measure] = {
        "ours": lambda: _stopped(ours, INIT, hung),
        "job": lambda: _stopped(ours, job(ground), hung),
    }
    if path := tini():
        measures[TINI] = lambda: _stopped((path, "-s", "--", *child), {}, hung)
    if argv := supervisord(ground, hung.path):
        measures[SUPERVISORD] = lambda: _stopped(argv, {}, hung)
    figures = in_turns(measures, ground.rounds(ROUNDS), ground.progress)
    init = Row(what="init: TERM to exit", unit="ms", ours=None, against="", goal=GOAL)
    pod = Row(what="a job's pod: TERM to exit", unit="ms", ours=None, against="", goal=GOAL)
    return (
        *rows(init, "ms", figures, (TINI, SUPERVISORD)),
        *rows(pod, "ms", {**figures, "ours": figures["job"]}, (TINI, SUPERVISORD)),
    )


def _process_one(ground: Ground, hung: Bell) -> tuple[Row, ...]:
    child = ringing(hung.path)
    ours = (*AS_PROCESS_ONE, START_PADDLE, "--", *child)
    measures: dict[str, Measure] = {
        "ours": lambda: _stopped(ours, INIT, hung),
        "job": lambda: _stopped(ours, job(ground), hung),
    }
    if path := tini():
        measures[TINI] = lambda: _stopped((*AS_PROCESS_ONE, path, "--", *child), {}, hung)
    figures = in_turns(measures, ground.rounds(ROUNDS), ground.progress)
    init = Row(what="init as process 1: TERM to the namespace's end", unit="ms", ours=None, against="", goal=GOAL)
    pod = Row(
        what="a job's pod as process 1: TERM to the namespace's end", unit="ms", ours=None, against="", goal=GOAL
    )
    return (
        *rows(init, "ms", figures, (TINI,)),
        *rows(pod, "ms", {**figures, "ours": figures["job"]}, (TINI,)),
    )


def _stopped(argv: Sequence[str], env: Mapping[str, str], hung: Bell) -> Values:
    with running(argv, env) as life:
        hung.hear()
        time.sleep(SETTLED)
        return {"ms": life.end() * 1e3}
