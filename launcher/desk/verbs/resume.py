"""`paddlectl resume`: lets a job go on that was suspended or killed."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from launcher.desk.arguments import of_jobs
from launcher.desk.jobs import control
from launcher.desk.session import Desk

EXAMPLES = """\
  paddlectl resume my-job        it goes on after its last complete pass"""


def arguments(parser: ArgumentParser) -> None:
    """Add which jobs."""
    of_jobs(parser)


def run(given: Namespace, desk: Desk) -> int:
    """Let the job go on."""
    return desk.each(given.job, lambda name: desk.terminal.note(control.resume(name, desk)))
