"""`paddlectl logs`: what the pods of a job wrote."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentError, ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from launcher.contract import PSERVER, TRAINER
from launcher.desk.arguments import flag, of_one_job, seconds, whole
from launcher.desk.jobs.logs import JobLog, logs
from launcher.desk.session import Desk

EXAMPLES = """\
  paddlectl logs my-job
  paddlectl logs -f my-job                    all ranks, live, until the job ends
  paddlectl logs -role pserver --tail 20 my-job
  paddlectl logs -worker trainer-0 --since 10m my-job"""


_LINES = whole(0, 10_000_000)


class _LinesOrNamespace(Action):
    """A number behind -n is one of lines; anything else is the namespace, as everywhere."""

    def __call__(
        self,
        parser: ArgumentParser,  # noqa: ARG002  # as argparse calls it
        namespace: Namespace,
        values: Any,  # noqa: ANN401  # as argparse's
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        """Keep the value."""
        try:
            setattr(namespace, *(("tail", _LINES(values)) if values.isdecimal() else (self.dest, values)))
        except ArgumentTypeError as error:
            raise ArgumentError(self, str(error)) from None


def arguments(parser: ArgumentParser) -> None:
    """Add which logs, and how much of them."""
    of_one_job(parser)
    flag(parser, "f", "follow", action="store_true", help="wait for pods to start, and go on until the job ends")
    flag(parser, "role", choices=(TRAINER, PSERVER), default="", help="only of one role")
    flag(parser, "worker", default="", metavar="POD", help="only of one pod: its name, or such as trainer-0")
    flag(parser, "tail", type=_LINES, default=None, metavar="LINES", help="the last lines of each")
    parser.add_argument(
        "-n", dest="namespace", action=_LinesOrNamespace, default=SUPPRESS, metavar="LINES|NAME",
        help="a number: as -tail; else as -namespace",
    )  # fmt: skip
    flag(parser, "since", type=seconds, default=None, metavar="TIME", help="not older than 90s, 10m, 2h")


def run(given: Namespace, desk: Desk) -> int:
    """Print logs of the job."""
    which = {"role": given.role, "worker": given.worker, "tail": given.tail, "since": given.since}
    show_logs(desk, logs(given.job, desk, follow=given.f, **which))
    return 0


def show_logs(desk: Desk, found: JobLog) -> None:
    """Print lines, each behind its role and rank where they may be of several pods."""
    for line in found.lines:
        before = desk.terminal.coloured(f"{line.title} | ", max(line.rank, 0)) if found.several else ""
        desk.terminal.out(f"{before}{line.text}\n")
