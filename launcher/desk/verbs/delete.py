"""`paddlectl delete`: removes jobs, or registries."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from launcher.desk.arguments import job_name
from launcher.desk.errors import Mistyped
from launcher.desk.jobs import control, registries
from launcher.desk.session import Desk

EXAMPLES = """\
  paddlectl delete registry                lists the registries
  paddlectl delete registry my-registry
  paddlectl delete jobs my-job other-job   as `paddlectl kill -rm my-job other-job`"""
_SPELLED = {"jobs": "job", "registries": "registry"}


def arguments(parser: ArgumentParser) -> None:
    """Add what is removed."""
    parser.add_argument("what", type=lambda text: _SPELLED.get(text, text), choices=("registry", "job"))
    parser.add_argument("name", nargs="*", type=job_name, help="one or several")


def run(given: Namespace, desk: Desk) -> int:
    """Delete the specified resources."""
    if given.what == "registry":
        return desk.each(
            given.name or [""], lambda name: desk.terminal.note(registries.registry_removed(desk.api, name))
        )
    if not given.name:
        raise Mistyped("delete job: expected the job's name; `paddlectl get jobs` lists the jobs")
    return desk.each(given.name, lambda name: desk.terminal.note(control.kill(name, desk, remove=True)))
