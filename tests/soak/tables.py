"""What came of the soak, as a table. No I/O here."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.soak.health_runs import Healthy
from tests.soak.plans import ALWAYS, OF_PROGRAMS, TIMED
from tests.soak.runs import Result
from tests.soak.width_checks import Change
from tests.soak.width_plans import LOSSES, PLANNED
from tests.soak.width_runs import WidthResult

BEGINNING = "# Random faults\n\nWritten by `python -m tests.soak --write`: gangs of five, one to four faults each.\n"
HEALTHY = """\
# No alarm where there is no trouble

Written by `python -m tests.soak.healthy --write`, a part of `make soak`: examples/ trained by launchers that look for
every trouble, with the time-outs of the planted faults (10 s without a sign of life, 15 s without a step). How many
nodes, how many passes and how long a step takes follow from the part's seed. An alarm is false, and so is a restart.
`unknown` is the largest part of a run's seconds that no launcher counted.
"""
WIDTHS = """\
## Widths that change

Written by `python -m tests.soak.widths --write`: gangs of `1:3` to `2:4`, at times with a spare, in units of two or
without indexes, by the scripted API server or, each third, by the names of an Indexed Job. Two to six times somebody
comes, goes or is lost at a random moment; in the end there are enough. A pass is ten steps of 50 ms.
`LAUNCHER_PEER_TIMEOUT` is 3, `LAUNCHER_SETTLE` 1, `LAUNCHER_SHRINK_AFTER` 2, `LAUNCHER_GRACE` 2, 6 or 10. Held of
each run (`tests/soak/width_runs.py`): never two starts at once, one verdict, the model of an undisturbed training,
ranks without a gap, a width between the bounds and a multiple of the unit, no shard given twice or to nobody, and no
restart spent by what is planned but by each third in a row without a new pass. Where all is planned, and programs
call `here.leaving` and have three seconds to save, no step is made again.
"""
PART_HEAD = (
    "| day | seed | seconds | of training | runs | alarms | restarts | failed | unknown | which |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
)
FIRST_SEED = 9000


def table(results: Sequence[Result]) -> str:
    """Return how often each fault was had, with the restarts and seconds of the runs that had it."""
    lines = ["| fault | times | in runs | restarts, mean | seconds, median | at the most |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    for kind in (*TIMED, *OF_PROGRAMS, ALWAYS, ""):
        runs = [each for each in results if kind in each.had or not kind]
        times = sum(each.had.count(kind) if kind else len(each.had) for each in runs)
        lines.append(_line(kind or "all runs", times, runs))
    return "\n".join((*lines, "", *_unknown(results)))


def _unknown(results: Sequence[Result]) -> Iterator[str]:
    """Yield which part of the seconds nobody counted, where no pod was lost and where one was."""
    for lost, title in ((False, "no pod was lost"), (True, "a pod was lost, replaced or frozen")):
        some = [each.unknown for each in results if each.lost is lost]
        if some:
            figures = f"{statistics.median(some):.2%} at the median, {max(some):.2%} at the most"
            yield f"Of all seconds of the {len(some)} runs where {title}, {figures} are unknown."


def _line(name: str, times: int, runs: Sequence[Result]) -> str:
    if not runs:
        return f"| {name} | 0 | 0 | | | |"
    seconds = [each.seconds for each in runs]
    restarts = statistics.mean(each.restarts for each in runs)
    figures = f"{restarts:.1f} | {statistics.median(seconds):.1f} | {max(seconds):.1f}"
    return f"| {name} | {times} | {len(runs)} | {figures} |"


def width_table(results: Sequence[WidthResult]) -> str:
    """Return how often each turn was had, and what a start cost that followed another one."""
    lines = [
        "| what happened | times | in runs | starts, mean | changes of width | restarts | seconds, median | most |"
    ]
    lines.append(f"| --- |{' ---: |' * 7}")
    for kind in (*PLANNED, *LOSSES, ""):
        runs = [each for each in results if kind in each.had or not kind]
        times = sum(each.had.count(kind) if kind else len(each.had) for each in runs)
        lines.append(_width_line(kind or "all runs", times, runs))
    return "\n".join((*lines, "", *_change_lines([change for each in results for change in each.changes])))


def _width_line(name: str, times: int, runs: Sequence[WidthResult]) -> str:
    if not runs:
        return f"| {name} | 0 | 0 | | | | | |"
    starts = statistics.mean(1 + len(each.changes) for each in runs)
    widths = statistics.mean(sum(change.before != change.after for change in each.changes) for each in runs)
    restarts = statistics.mean(each.restarts for each in runs)
    seconds = [each.seconds for each in runs]
    figures = f"{starts:.1f} | {widths:.1f} | {restarts:.1f} | {statistics.median(seconds):.1f} | {max(seconds):.1f}"
    return f"| {name} | {times} | {len(runs)} | {figures} |"


def _change_lines(changes: Sequence[Change]) -> Iterator[str]:
    """Yield what it cost to go on: steps that were made again, and seconds between the last step and the next."""
    yield "| a start that follows | times | of another width | steps again, median | most | seconds still | most |"
    yield f"| --- |{' ---: |' * 6}"
    planned = [each for each in changes if not each.restarts]
    yield _change_line("as planned, programs call `here.leaving`", [each for each in planned if each.asked])
    yield _change_line("as planned, others", [each for each in planned if not each.asked])
    yield _change_line("after a restart was spent", [each for each in changes if each.restarts])


def _change_line(name: str, changes: Sequence[Change]) -> str:
    if not changes:
        return f"| {name} | 0 | | | | | |"
    twice, still = [each.twice for each in changes], [each.still for each in changes]
    other = sum(each.before != each.after for each in changes)
    steps = f"{statistics.median(twice):.0f} | {max(twice)}"
    return f"| {name} | {len(changes)} | {other} | {steps} | {statistics.median(still):.1f} | {max(still):.1f} |"


def with_section(page: str, text: str) -> str:
    """Return a page with this section in the place of the one with the same heading, or at its end."""
    heading = text.partition("\n")[0]
    sections = re.split(r"^(?=##? )", page, flags=re.MULTILINE)
    kept = [text if each.partition("\n")[0] == heading else each for each in sections if each]
    return "\n".join(each.rstrip("\n") + "\n" for each in (kept if text in kept else [*kept, text]))


def part(day: str, seed: int, seconds: float, runs: Sequence[Healthy], failed: int) -> str:
    """Return a part of the healthy soak as a line: how long, which runs, and how many words of trouble, all false."""
    many = Counter(each.plan.example.folder for each in runs)
    names = ", ".join(f"{name} {count}" for name, count in sorted(many.items()))
    alarms, again = (sum(len(getattr(each, what)) for each in runs) for what in ("alarms", "again"))
    known = [each.unknown for each in runs if each.unknown is not None]
    unknown = f"{max(known):.2%}" if known else ""
    trained = sum(each.seconds for each in runs)
    figures = f"{seconds:.0f} | {trained:.0f} | {len(runs)} | {alarms} | {again} | {failed} | {unknown}"
    return f"| {day} | {seed} | {figures} | {names} |"


def with_part(page: str, line: str) -> str:
    """Return the page with one more part, and the sum of all."""
    lines = [*_parts(page), line]
    seconds, runs, alarms, again, failed = (sum(int(_cells(each)[at]) for each in lines) for at in (3, 4, 5, 6, 7))
    total = (
        f"In all {seconds} s of training in {runs} runs: {alarms} alarms, {again} restarts, "
        f"{failed} runs that did not end well."
    )
    return "\n".join((HEALTHY, total, "", *PART_HEAD, *lines, ""))


def next_seed(page: str) -> int:
    """Return the seed of the part after those that are there."""
    return max((int(_cells(each)[1]) for each in _parts(page)), default=FIRST_SEED - 1) + 1


def _parts(page: str) -> list[str]:
    return [line for line in page.splitlines() if re.match(r"\| \d{4}-", line)]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]
