"""`paddlectl rm`: removes files from the volume."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from launcher.desk.arguments import flag, harmless
from launcher.desk.errors import Problem
from launcher.desk.files import paths
from launcher.desk.session import Desk

EXAMPLES = """\
  paddlectl rm /pfs/datacenter1/home/me/data/old.txt
  paddlectl rm -r /pfs/datacenter1/home/me/data            a directory with all that is in it"""


def arguments(parser: ArgumentParser) -> None:
    """Add what is removed."""
    parser.add_argument("path", nargs="+")
    flag(parser, "r", "recursive", action="store_true", help="directories with everything in them")
    harmless(parser, f="nobody is asked")


def run(given: Namespace, desk: Desk) -> int:
    """Remove files."""
    desk, found = paths.located(desk, given.path)
    wanted = [paths.writable(each) for each in found]
    for each in wanted:
        if not each.path:
            raise Problem(
                f"{each.told} is your home directory, which cannot be removed: name files or directories in it"
            )
    from launcher.desk.files import list

    list.files_removed(desk, wanted, all_of_it=given.r)
    return 0
