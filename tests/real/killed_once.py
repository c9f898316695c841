"""Runs a training program that is killed at a step, once: `killed_once.py RANK PASS STEP PROGRAM`, on each rank."""

from __future__ import annotations

import os
import runpy
import signal
import sys

from launcher import here

rank, number, at = (int(word) for word in sys.argv[1:4])
sys.argv = sys.argv[4:]
report = here.progress


def progress(pass_: int | None = None, step: int | None = None, **metrics: float | str) -> None:
    """Report, and be killed where that was asked for."""
    report(pass_, step, **metrics)
    if (pass_, step) == (number, at):
        os.kill(os.getpid(), signal.SIGKILL)


if here.rank() == rank and here.resume()[1] is None:
    here.progress = progress
runpy.run_path(sys.argv[0], run_name="__main__")
