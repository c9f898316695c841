"""`paddlectl flags`: the flags that every verb has."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from launcher.desk.arguments import top
from launcher.desk.session import Desk

EXAMPLES = "  paddlectl flags"


def arguments(parser: ArgumentParser) -> None:
    """Add nothing."""


def run(given: Namespace, desk: Desk) -> int:  # noqa: ARG001  # as every verb's
    """Describe the top-level flags."""
    desk.terminal.out(top().format_help())
    return 0
