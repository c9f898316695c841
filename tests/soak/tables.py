"""What came of the soak, as a table. No I/O here."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tests.soak.plans import ALWAYS, OF_PROGRAMS, TIMED
from tests.soak.runs import Result

BEGINNING = "# Random faults\n\nWritten by `python -m tests.soak --write`: gangs of five, one to four faults each.\n"


def table(results: Sequence[Result]) -> str:
    """Return how often each fault was had, with the restarts and seconds of the runs that had it."""
    lines = ["| fault | times | in runs | restarts, mean | seconds, median | at the most |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    for kind in (*TIMED, *OF_PROGRAMS, ALWAYS, ""):
        runs = [each for each in results if kind in each.had or not kind]
        times = sum(each.had.count(kind) if kind else len(each.had) for each in runs)
        lines.append(_line(kind or "all runs", times, runs))
    return "\n".join(lines)


def _line(name: str, times: int, runs: Sequence[Result]) -> str:
    if not runs:
        return f"| {name} | 0 | 0 | | | |"
    seconds = [each.seconds for each in runs]
    restarts = statistics.mean(each.restarts for each in runs)
    figures = f"{restarts:.1f} | {statistics.median(seconds):.1f} | {max(seconds):.1f}"
    return f"| {name} | {times} | {len(runs)} | {figures} |"
