"""`paddlectl logs`: what the pods of a job wrote."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from launcher.contract import PSERVER, TRAINER
from launcher.desk.arguments import flag, seconds, whole
from launcher.desk.jobs.logs import JobLog, logs
from launcher.desk.session import Desk

EXAMPLES = """\
  paddlectl logs my-job
  paddlectl logs -f my-job                    all ranks, live, until the job ends
  paddlectl logs -role pserver -n 20 my-job
  paddlectl logs -worker trainer-0 --since 10m my-job"""


def arguments(parser: ArgumentParser) -> None:
    """Add which logs, and how much of them."""
    parser.add_argument("job")
    flag(parser, "f", "follow", action="store_true", help="wait for pods to start, and go on until the job ends")
    flag(parser, "role", choices=(TRAINER, PSERVER), default="", help="only of one role")
    flag(parser, "worker", default="", metavar="POD", help="only of one pod: its name, or such as trainer-0")
    flag(parser, "n", "tail", type=whole(0, 10_000_000), default=None, metavar="LINES", help="the last lines of each")
    flag(parser, "since", type=seconds, default=None, metavar="TIME", help="not older than 90s, 10m, 2h")


def run(given: Namespace, desk: Desk) -> int:
    """Print logs of the job."""
    show_logs(
        desk,
        logs(given.job, desk, follow=given.f, role=given.role, worker=given.worker, tail=given.n, since=given.since),
    )
    return 0


def show_logs(desk: Desk, found: JobLog) -> None:
    """Print lines, each behind its role and rank where they may be of several pods."""
    for line in found.lines:
        before = desk.terminal.coloured(f"{line.title} | ", max(line.rank, 0)) if found.several else ""
        desk.terminal.out(f"{before}{line.text}\n")
