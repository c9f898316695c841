"""`paddlectl file`: the seeds' upload, which `cp` does as well."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from launcher.desk.errors import Mistyped
from launcher.desk.files import paths
from launcher.desk.session import Desk
from launcher.desk.verbs import cp

EXAMPLES = """\
  paddlectl file dataset /pfs/datacenter1/home/me          the directory: /pfs/datacenter1/home/me/dataset
  paddlectl file dataset/ /pfs/datacenter1/home/me/train   its content, without a new directory"""


def arguments(parser: ArgumentParser) -> None:
    """Add from where to where."""
    parser.add_argument("src", help="below the current directory; with / at the end: its content")
    parser.add_argument("dest", help="/pfs/<datacenter>/home/<username>/...")


def run(given: Namespace, desk: Desk) -> int:
    """Upload."""
    if not paths.is_remote(given.dest):
        raise Mistyped(
            f"{given.dest}: expected dest to begin with /pfs/<datacenter>/home/<username>; cp copies the other way"
        )
    if paths.is_remote(given.src):
        raise Mistyped(f"{given.src}: expected a directory below the current one as src; cp copies the other way")
    return cp.run(given, desk)
