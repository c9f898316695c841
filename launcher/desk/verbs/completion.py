"""`paddlectl completion`: what makes a shell complete what is typed, with the names of jobs."""

from __future__ import annotations

import io
import threading
from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import redirect_stderr, suppress

from launcher.desk.completion import FILE_NAMES, JOB_NAMES, completed
from launcher.desk.session import Desk, DeskFlags
from launcher.desk.shells import SHELLS
from launcher.desk.terminal import Terminal

EXAMPLES = """\
  paddlectl completion bash              source <(paddlectl completion bash), in ~/.bashrc
  paddlectl completion zsh               source <(paddlectl completion zsh), in ~/.zshrc
  paddlectl completion fish              paddlectl completion fish | source, in ~/.config/fish/config.fish
  paddlectl completion words -- kill my  what the scripts ask: the words that may stand in the place of the last;
                                         1: a file's name may"""
_PATIENCE = 2.0  # seconds: somebody has pressed Tab


def arguments(parser: ArgumentParser) -> None:
    """Add the shell."""
    parser.add_argument("shell", choices=(*SHELLS, "words"))
    parser.add_argument("typed", nargs=REMAINDER, help="what is typed so far, for `words`")


def run(given: Namespace, desk: Desk) -> int:
    """Print a script, or what may stand in the place of the last word."""
    if given.shell != "words":
        desk.terminal.out(SHELLS[given.shell])
        return 0
    from launcher.desk.cli import verb_parser

    last = given.typed[-1] if given.typed else ""
    found, said = completed(given.typed, lambda verb: verb_parser(verb)[1])
    names = job_names(said, desk) if found.kind == JOB_NAMES else ()
    desk.terminal.out("".join(f"{each}\n" for each in found.offered(last, names)))
    return 1 if found.kind == FILE_NAMES else 0


def job_names(said: Namespace, desk: Desk, patience: float = _PATIENCE) -> Sequence[str]:
    """Return the names of jobs, none where anything is wrong or takes long; nothing is said of it."""
    there = Desk(DeskFlags.said(said), terminal=Terminal(quiet=True), environ=desk.environ)
    found: list[str] = []

    def look() -> None:
        from launcher.desk.jobs import lookup

        with suppress(Exception):
            found.extend(lookup.gang_names(there.api))

    with redirect_stderr(io.StringIO()):
        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        looking.join(patience)
    return tuple(found)
