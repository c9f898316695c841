"""`paddlectl ls`: lists files on the volume."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from launcher.desk.arguments import flag, harmless
from launcher.desk.files import paths
from launcher.desk.session import Desk
from launcher.text import shown

EXAMPLES = """\
  paddlectl ls                             the home in the current datacenter
  paddlectl ls -l /pfs/datacenter1/home/me/data
  paddlectl ls /pfs/datacenter1/public"""


def arguments(parser: ArgumentParser) -> None:
    """Add what is listed, and how."""
    parser.add_argument("path", nargs="*", default=[])
    flag(parser, "l", action="store_true", help="also kind, size in bytes and time")
    harmless(parser, a="names that begin with a dot are always listed")


def run(given: Namespace, desk: Desk) -> int:
    """List files."""
    home = f"/pfs/{desk.datacenter.name}/home/{desk.datacenter.username}" if not given.path else ""
    desk, found = paths.located(desk, given.path or [home])
    from launcher.desk.files import list

    for place, rows in list.files_listed(desk, found):
        if len(found) > 1:
            desk.terminal.out(f"{shown(place.told)}:\n")
        for row in rows:
            # A directory by its slash, so that a script can tell without -l.
            name = shown(row.name) + ("/" if row.kind == "d" else "")
            when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(min(row.time, 1 << 36)))
            desk.terminal.out(f"{row.kind}\t{row.size}\t{when}\t{name}\n" if given.l else f"{name}\n")
    return 0
