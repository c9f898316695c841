"""What a gang comes to after a fault: held, and noted for the table of `python -m tests.process.faults`."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path

from tests.support.gangs import Gang, expected

DONE = "every trainer is done"
TABLE = "FAULTS_TABLE"  # the file that notes are collected in


def restarts(
    g: Gang, fault: str, at: float | None = None, *, first: int, generation: int = 2, passes: int = 3
) -> None:
    """Hold that all trainers start again, once, from the right pass, and come to what they would have come to."""
    starts = g.await_training(generation)
    began = g.trace("fault")[0]["at"] if at is None else at
    note(fault, f"all start again from pass {first}", max(start["at"] for start in starts) - began)
    assert {(start["generation"], start["first"]) for start in starts} == {(generation, first)}
    is_done(g, passes=passes)


def is_done(g: Gang, *, passes: int = 3) -> None:
    """Hold that it ends well everywhere, with what an undisturbed training comes to."""
    assert g.verdict() == (0, DONE)
    assert g.result() == expected(passes, g.count - g.pservers)
    one_at_a_time(g)


def one_at_a_time(g: Gang) -> None:
    """Hold that no trainer of a generation did anything after one of the next had started."""
    for before, after in pairwise(g.trace(role="trainer")):
        assert before["generation"] == after["generation"] or after["what"] == "start", (before, after)


def ends(g: Gang, fault: str, at: float | None = None, *, code: int, text: str) -> str:
    """Hold that it ends everywhere with this code and one message, which has this text; return the message."""
    found, message = g.verdict()
    assert (found, text in message) == (code, True), (found, message)
    began = g.trace("fault")[0]["at"] if at is None else at
    note(fault, f"all end with {code}", g.last_end() - began)
    return message


def note(fault: str, happened: str, seconds: float) -> None:
    """Say what happened after a fault, and how long it took."""
    print(f"{fault}: {happened}, after {seconds:.2f} s")
    if path := os.environ.get(TABLE):
        with Path(path).open("a") as table:
            table.write(json.dumps({"fault": fault, "happened": happened, "seconds": round(seconds, 3)}) + "\n")
