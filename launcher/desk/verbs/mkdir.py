"""`paddlectl mkdir`: makes directories on the volume."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from launcher.desk.arguments import harmless
from launcher.desk.files import paths
from launcher.desk.session import Desk

EXAMPLES = "  paddlectl mkdir /pfs/datacenter1/home/me/data/train      and the missing directories above it"


def arguments(parser: ArgumentParser) -> None:
    """Add what is made."""
    parser.add_argument("path", nargs="+")
    harmless(parser, p="missing directories above are always made")


def run(given: Namespace, desk: Desk) -> int:
    """Make directories."""
    desk, found = paths.located(desk, given.path)
    wanted = [paths.writable(each) for each in found]
    from launcher.desk.files import list

    list.made(desk, wanted)
    return 0
