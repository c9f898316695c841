"""Runs a training program as it is, with the planted fault in its steps: `start.py PROGRAM ...`, in every process.

A step is where the program reports it. Of some plans it is one of `here.step`, too.
"""

from __future__ import annotations

import os
import re
import runpy
import sys
from pathlib import Path

from launcher import here
from tests.real.planted.acts import planted

PLANTED = planted()
REPORT = here.progress


def progress(pass_: int | None = None, step: int | None = None, **metrics: float | str) -> None:
    """Report a step, and suffer what is planned for it."""
    if pass_ is None or step is None:
        REPORT(pass_, step, **metrics)
        return
    REPORT(pass_, step, **PLANTED.reported(pass_, step, metrics))
    PLANTED.call_now(pass_, step)
    if PLANTED.plan["steps"]:
        with here.step():
            PLANTED.learned(pass_, step)
    else:
        PLANTED.learned(pass_, step)


def main() -> None:
    if PLANTED.role == "pserver":
        PLANTED.freeze_later()
    here.progress = progress
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(sys.argv[0]))  # noqa: PTH120  # as Python does it
    passes = PLANTED.plan.get("passes")
    if passes:
        longer(sys.argv[0], passes)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


def longer(path: str, passes: int) -> None:
    """Run a program that makes PASSES, as its first number, with so many of them."""
    text = Path(path).read_text()
    source, changed = re.subn(r"^(PASSES\b.*?= )\d+", rf"\g<1>{passes}", text, count=1, flags=re.MULTILINE)
    if not changed:
        raise SystemExit(f"{path}: expected a line that begins with PASSES and has its number first")
    exec(compile(source, path, "exec"), {"__name__": "__main__", "__file__": path})  # noqa: S102


if __name__ == "__main__":
    main()
