"""`paddlectl kill`: ends a job."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from launcher.desk.arguments import flag, of_jobs
from launcher.desk.jobs import control
from launcher.desk.session import Desk

EXAMPLES = """\
  paddlectl kill my-job          its pods end; the job stays in the list
  paddlectl kill -rm my-job      only its files on a volume stay"""


def arguments(parser: ArgumentParser) -> None:
    """Add which jobs, and whether they are removed."""
    of_jobs(parser)
    flag(parser, "rm", action="store_true", help="remove the job from history")


def run(given: Namespace, desk: Desk) -> int:
    """Stop the job."""
    return desk.each(given.job, lambda name: desk.terminal.note(control.kill(name, desk, remove=given.rm)))
