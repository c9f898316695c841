"""`paddlectl delete`: removes a job, or a registry."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from launcher.desk.errors import Mistyped
from launcher.desk.jobs import control, registries
from launcher.desk.session import Desk

EXAMPLES = """\
  paddlectl delete registry                lists the registries
  paddlectl delete registry my-registry
  paddlectl delete job my-job              as `paddlectl kill -rm my-job`"""


def arguments(parser: ArgumentParser) -> None:
    """Add what is removed."""
    parser.add_argument("what", choices=("registry", "job"))
    parser.add_argument("name", nargs="?", default="")


def run(given: Namespace, desk: Desk) -> int:
    """Delete the specified resource."""
    if given.what == "registry":
        desk.terminal.note(registries.registry_removed(desk.api, given.name))
        return 0
    if not given.name:
        raise Mistyped("delete job: expected the job's name; `paddlectl get jobs` lists the jobs")
    desk.terminal.note(control.kill(given.name, desk, remove=True))
    return 0
