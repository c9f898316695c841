"""`paddlectl report`: the page of a gang's story."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from launcher.desk.arguments import flag, of_one_job
from launcher.desk.jobs import lookup, saved_output
from launcher.desk.session import Desk

EXAMPLES = "  paddlectl report my-job                  my-job.html\n  paddlectl report my-job -o page.html"


def arguments(parser: ArgumentParser) -> None:
    """Add which job, and where the page goes."""
    of_one_job(parser)
    flag(parser, "o", "output", default="", metavar="FILE", help="the page (JOB.html)")


def run(given: Namespace, desk: Desk) -> int:
    """Make the page."""
    gang = lookup.found(desk.api, given.job)
    saved_output.report(desk, gang, Path(given.o or f"{gang.name}.html"))
    return 0
