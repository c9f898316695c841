"""`paddlectl goodput`: how much of the time of jobs was training that was kept, and where the rest went."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from pathlib import Path

from launcher.desk import columns
from launcher.desk.arguments import flag, job_name
from launcher.desk.errors import Problem
from launcher.desk.jobs import answers, lookup, saved_output, tables
from launcher.desk.session import Desk
from launcher.report.goodput.jobs import JobGoodput, goodput_table, goodput_values, job_goodput
from launcher.report.reading import read_events
from launcher.text import shown

EXAMPLES = """\
  paddlectl goodput my-job
  paddlectl goodput my-job other-job        side by side, and all together
  paddlectl goodput my-job -o json          also each run, and what each restart lost
  paddlectl goodput ./output                of a directory or an events.jsonl of this machine"""


def arguments(parser: ArgumentParser) -> None:
    """Add which jobs or files, and the format."""
    parser.add_argument(
        "job", nargs="+", type=job_name, help="one or several; a path with a slash is of this machine"
    )
    flag(parser, "o", "output", choices=("json", "yaml"), default="", help="as values")


def run(given: Namespace, desk: Desk) -> int:
    """Show where the time of each went."""
    found: list[JobGoodput] = []
    with ExitStack() as stack:
        saved = saved_output.SavedEvents(desk, stack)
        code = desk.each(given.job, lambda name: found.append(_told(desk, name, saved)))
    if given.o:
        desk.terminal.out(answers.values_text({"items": list(map(goodput_values, found))}, given.o))
    elif found:
        rows = goodput_table(found)
        screen = desk.terminal.screen
        desk.terminal.out(columns.table(rows) + "\n" if screen else "".join(map(tables.line, rows)))
    return code


def _told(desk: Desk, name: str, saved: saved_output.SavedEvents) -> JobGoodput:
    if "/" in name:
        found = job_goodput(name, read_events(saved_output.local_events(Path(name))))
    else:
        found = job_goodput(name, read_events(saved.of(lookup.found(desk.api, name))))
    if not found.runs:
        raise Problem(f"{shown(name)}: no event can be read")
    if without := sum(each.account is None for each in found.runs):
        runs = f"{without} of {len(found.runs)} runs" if len(found.runs) > 1 else "its run"
        desk.terminal.note(
            f"{shown(name)}: {runs} has no ledger: it is written at the end of a generation, and not by 0.1.0"
        )
    return found
