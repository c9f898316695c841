"""`paddlectl`: one verb and the exit code: 0, 1 with a sentence, 2 for wrong usage, 78 or 69 for no rehearsal, 130.

Only that verb is imported, and nothing of Kubernetes before it is needed.
"""

from __future__ import annotations

import difflib
import io
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module

from launcher import __version__
from launcher.desk import arguments
from launcher.desk.arguments import WrongUsage
from launcher.desk.errors import as_flag
from launcher.desk.session import Desk, DeskFlags
from launcher.desk.terminal import Terminal
from launcher.job.problem import JobError

_HELP = frozenset(("-h", "-help", "--help"))
_VERSION = frozenset(("-version", "--version"))


def main(words: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr is: what a job wrote may be in any script
    try:
        return _main(sys.argv[1:] if words is None else words)
    except WrongUsage as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 2
    except JobError as error:
        sys.stderr.write(
            "".join(f"paddlectl: {line}\n" for each in error.spelled(as_flag) for line in each.splitlines())
        )
        return error.code
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return 128 + signal.SIGINT
    except BrokenPipeError:  # as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + getattr(signal, "SIGPIPE", 13)
    except OSError as error:
        sys.stderr.write(f"paddlectl: {error.filename or 'standard output'}: {error.strerror or error}\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python says it again at its end
        return 1


def _main(words: Sequence[str]) -> int:
    said = arguments.split_words(words)
    if _VERSION.intersection(said.before):
        sys.stdout.write(f"paddlectl {__version__}\n")
        return 0
    if not said.verb or said.verb == "help" or _HELP.intersection(said.before):
        return _help(said)
    module = _module(said.verb)
    parser = arguments.parser_of(said.verb, module.arguments, summary=_summary(said.verb), examples=module.EXAMPLES)
    try:
        given = parser.parse_args(said.after, arguments.top().parse_args(said.before))
    except SystemExit:  # its help was asked for, and is written
        return 0
    return int(module.run(given, _desk(given)))


def _help(said: arguments.Split) -> int:
    """Describe all verbs, or the one that is named."""
    arguments.top().parse_args([word for word in said.before if word not in _HELP])
    if not said.after or said.after[0].startswith("-"):
        sys.stdout.write(arguments.usage())
        return 0
    verb = said.after[0]
    if verb == "help":
        sys.stdout.write("usage: paddlectl help [command]\n\n" + arguments.VERBS["help"] + "\n")
        return 0
    module = _module(verb)
    made = arguments.parser_of(verb, module.arguments, summary=_summary(verb), examples=module.EXAMPLES)
    sys.stdout.write(made.format_help())
    return 0


def _module(verb: str):  # type: ignore[no-untyped-def]  # noqa: ANN202  # a module of verbs/: EXAMPLES, arguments and run
    if verb not in arguments.NAMES:
        near = difflib.get_close_matches(verb, arguments.NAMES, 1)
        meant = f"did you mean `paddlectl {near[0]}`?" if near else "`paddlectl help` lists the commands"
        raise WrongUsage(f"paddlectl: there is no command {verb!r}: {meant}")
    return import_module(f"launcher.desk.verbs.{verb}")


def _summary(verb: str) -> str:
    return {**arguments.VERBS, **arguments.PFS_VERBS}[verb]


def _desk(given: Namespace) -> Desk:
    terminal = Terminal.of(quiet=getattr(given, "q", False), verbose=getattr(given, "v", False))
    flags = DeskFlags(
        config=getattr(given, "config", ""),
        datacenter=getattr(given, "datacenter", ""),
        namespace=getattr(given, "namespace", ""),
    )
    return Desk(flags, terminal=terminal)
