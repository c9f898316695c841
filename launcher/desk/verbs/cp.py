"""`paddlectl cp`: copies files and directories to the volume, and from it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from launcher.desk.arguments import WrongUsage, harmless
from launcher.desk.files import paths
from launcher.desk.session import Desk

EXAMPLES = """\
  paddlectl cp my-data /pfs/datacenter1/home/me/           the directory: /pfs/datacenter1/home/me/my-data
  paddlectl cp my-data/ /pfs/datacenter1/home/me/data      its content
  paddlectl cp train.py /pfs/datacenter1/home/me/my-package/train.py
  paddlectl cp /pfs/datacenter1/home/me/jobs/my-job/output/ output
Run the same command again to continue a copy that broke off; data that arrived is not sent again."""


def arguments(parser: ArgumentParser) -> None:
    """Add from where to where."""
    parser.add_argument("src", help="with / at the end: its content; on this machine: below the current directory")
    parser.add_argument("dest", help="one of src and dest begins with /pfs/")
    harmless(parser, r="directories are copied whole", f="files are replaced", p="times and owners are not copied")


def run(given: Namespace, desk: Desk) -> int:
    """Upload or download."""
    paths.check_system()
    from launcher.desk.files import copy

    up = paths.is_remote(given.dest)
    if up == paths.is_remote(given.src):
        raise WrongUsage("expected one of src and dest to begin with /pfs/, and the other to be on this machine")
    if up:
        here = Path.cwd()
        source = paths.local_source(given.src, str(here))
        desk, (target,) = paths.located(desk, (given.dest,))
        copy.upload(desk, here, source, paths.writable(target))
    else:
        desk, (there,) = paths.located(desk, (given.src,))
        copy.download(desk, there, given.dest)
    return 0
