"""`paddlectl top`: a gang as it runs, one row a rank, the slowest first."""

from __future__ import annotations

import shutil
import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from launcher.desk.arguments import WrongUsage, flag, of_one_job
from launcher.desk.errors import Problem
from launcher.desk.jobs import answers
from launcher.desk.live import asking, cells
from launcher.desk.live.rows import gang_head, rank_rows
from launcher.desk.session import Desk

if TYPE_CHECKING:
    from launcher.desk.live.asking import GangAsker

EXAMPLES = """\
  paddlectl top my-job                    each 2 s, until q or Ctrl-C
  paddlectl top --once my-job             once: paces and processors are those of a second
  paddlectl top --once -o json my-job"""
_BETWEEN = 1.0  # seconds between two looks, from which paces and the use of processors are known


def arguments(parser: ArgumentParser) -> None:
    """Add which job, and whether once."""
    of_one_job(parser)
    flag(parser, "once", action="store_true", help="print it once, and end")
    flag(parser, "o", "output", choices=("json",), default="", help="as values, with --once")


def run(given: Namespace, desk: Desk) -> int:
    """Show the gang."""
    if given.o and not given.once:
        raise WrongUsage("-o: expected --once with it")
    if not (given.once or desk.terminal.screen):
        raise WrongUsage("standard output is no terminal: expected --once")
    asker = asking.GangAsker(api=desk.api, name=given.job)
    return _once(given, desk, asker) if given.once else _live(desk, asker)


def _once(given: Namespace, desk: Desk, asker: GangAsker) -> int:
    before = asker.look()
    if before.gang:
        time.sleep(_BETWEEN)
    look = asker.look() if before.gang else before
    head, rows = gang_head(look), rank_rows(look, asker.before)
    if given.o:
        desk.terminal.out(answers.values_text(cells.top_values(given.job, desk.api.namespace, head, rows), given.o))
        return 0
    if not look.gang:
        desk.terminal.note(cells.NO_LEADER)
    width = shutil.get_terminal_size().columns if desk.terminal.screen else 0
    desk.terminal.out("".join(f"{line}\n" for line in cells.head_lines(given.job, head)))
    desk.terminal.out(cells.plain_table(rows, width))
    return 0


def _live(desk: Desk, asker: GangAsker) -> int:
    try:
        from launcher.desk.live import drawn  # only here: rich takes 60 ms and 7 MB
    except ModuleNotFoundError as error:
        raise Problem(
            f"a table that moves needs the package {error.name}, which is not installed: `pip install {error.name}`, "
            f"or `paddlectl top --once {asker.name}`, which does without"
        ) from None
    desk.terminal.out(drawn.table_shown(asker))
    return 0
