"""From SIGTERM to the end, with a child that obeys at once."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from bench.lives import Ground, init, job, ringing, supervisord, tini
from bench.processes import AS_PROCESS_ONE, Bell, bell, running
from bench.rows import Measure, Row, Values, rows

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
    peers: dict[str, Measure] = {}
    if path := tini():
        peers[TINI] = lambda: _stopped((path, "-s", "--", *child), {}, hung)
    if argv := supervisord(ground, hung.path):
        peers[SUPERVISORD] = lambda: _stopped(argv, {}, hung)
    figures = ground.in_turns(_ours(ground, hung, ()), peers, ROUNDS)
    alone = Row(what="init: TERM to exit", unit="ms", ours=None, against="", goal=GOAL)
    pod = Row(what="a job's pod: TERM to exit", unit="ms", ours=None, against="", goal=GOAL)
    return (
        *rows(alone, "ms", figures, (TINI, SUPERVISORD)),
        *rows(pod, "ms", {**figures, "ours": figures["job"]}, (TINI, SUPERVISORD)),
    )


def _process_one(ground: Ground, hung: Bell) -> tuple[Row, ...]:
    child = ringing(hung.path)
    peers: dict[str, Measure] = {}
    if path := tini():
        peers[TINI] = lambda: _stopped((*AS_PROCESS_ONE, path, "--", *child), {}, hung)
    figures = ground.in_turns(_ours(ground, hung, AS_PROCESS_ONE), peers, ROUNDS)
    alone = Row(what="init as process 1: TERM to the namespace's end", unit="ms", ours=None, against="", goal=GOAL)
    pod = Row(
        what="a job's pod as process 1: TERM to the namespace's end", unit="ms", ours=None, against="", goal=GOAL
    )
    return (
        *rows(alone, "ms", figures, (TINI,)),
        *rows(pod, "ms", {**figures, "ours": figures["job"]}, (TINI,)),
    )


def _ours(ground: Ground, hung: Bell, before: Sequence[str]) -> dict[str, Measure]:
    argv = (*before, *ground.ours, "--", *ringing(hung.path))
    return {
        "ours": lambda: _stopped(argv, init(ground), hung),
        "job": lambda: _stopped(argv, job(ground), hung),
    }


def _stopped(argv: Sequence[str], env: Mapping[str, str], hung: Bell) -> Values:
    with running(argv, env) as life:
        hung.hear()
        time.sleep(SETTLED)
        return {"ms": life.end() * 1e3}
