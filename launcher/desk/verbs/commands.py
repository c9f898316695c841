"""`paddlectl commands`: the names, for completion and scripts."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from launcher.desk.arguments import NAMES
from launcher.desk.session import Desk

EXAMPLES = "  paddlectl commands"


def arguments(parser: ArgumentParser) -> None:
    """Add nothing."""


def run(given: Namespace, desk: Desk) -> int:  # noqa: ARG001  # as every verb's
    """List all commands."""
    desk.terminal.out("".join(f"{name}\n" for name in sorted(NAMES)))
    return 0
