"""`paddlectl scale`: gives an elastic job another number of pods."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from launcher.desk.arguments import flag, of_one_job, whole
from launcher.desk.elastic.scale import scale
from launcher.desk.session import Desk
from launcher.job.elastic.width import MOST_PODS

EXAMPLES = """\
  paddlectl scale my-job 3                of `submit -members 2:5`: two leave, the others go on at once
  paddlectl scale my-job 5                they come again, and take part after the next pass
  paddlectl scale --suspend my-job 3      of a job in a queue, which has one number of pods while it runs"""


def arguments(parser: ArgumentParser) -> None:
    """Add which job, how many pods, and whether it is suspended for it."""
    of_one_job(parser)
    help_ = "how many pods: from the least to the most of submit's -members, and its spares"
    parser.add_argument("pods", metavar="N", type=whole(0, MOST_PODS), help=help_)
    help_ = "end its pods first, as a job in a queue of Kueue needs it; the queue starts it again"
    flag(parser, "suspend", action="store_true", help=help_)


def run(given: Namespace, desk: Desk) -> int:
    """Scale the job."""
    desk.terminal.note(scale(given.job, desk, pods=given.pods, suspend=given.suspend))
    return 0
