"""`paddlectl wait`: until a job has come so far."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from launcher.desk.arguments import flag, of_one_job, seconds
from launcher.desk.jobs.wait import UNTIL, wait
from launcher.desk.session import Desk

EXAMPLES = """\
  paddlectl wait my-job                                 until it is complete; else exit 1 and the reason
  paddlectl wait my-job --for running --timeout 5m"""


def arguments(parser: ArgumentParser) -> None:
    """Add for what, and for how long."""
    of_one_job(parser)
    flag(parser, "for", type=_state, choices=UNTIL, default="complete", help="the state to wait for (complete)")
    flag(parser, "timeout", type=seconds, default=None, metavar="TIME", help="90s, 10m, 2h (no limit)")


def _state(text: str) -> str:
    """Return the state in kubectl's condition=Complete."""
    return text.removeprefix("condition=").lower()


def run(given: Namespace, desk: Desk) -> int:
    """Wait."""
    wait(given.job, desk, until=getattr(given, "for"), timeout=given.timeout)
    return 0
