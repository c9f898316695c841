"""`paddlectl suspend`: ends a job's pods until it is resumed."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from launcher.desk.arguments import of_jobs
from launcher.desk.jobs import control
from launcher.desk.session import Desk

EXAMPLES = """\
  paddlectl suspend my-job       its pods end, and give their place to others
  paddlectl resume my-job        and it goes on after its last complete pass"""


def arguments(parser: ArgumentParser) -> None:
    """Add which jobs."""
    of_jobs(parser)


def run(given: Namespace, desk: Desk) -> int:
    """Suspend the job."""
    return desk.each(given.job, lambda name: desk.terminal.note(control.suspend(name, desk)))
