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
from types import ModuleType

from launcher import __version__
from launcher.desk import arguments
from launcher.desk.arguments import WrongUsage
from launcher.desk.errors import error_lines
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
        return _main(sys.argv[1:] if words is None else words, arguments.called(sys.argv[0]))
    except WrongUsage as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 2
    except JobError as error:
        sys.stderr.write(error_lines(error))
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


def complete_for_kubectl() -> int:
    """Answer kubectl, which asks a program of its own what may come after `kubectl paddle`."""
    code = main(("completion", "words", "--", *sys.argv[1:]))
    sys.stdout.write(":0\n" if code == 1 else ":4\n")  # its words for: names of files as well, and for: nothing else
    return 0


def _main(words: Sequence[str], program: str) -> int:
    said = arguments.split_words(words)
    if _VERSION.intersection(said.before):
        sys.stdout.write(f"paddlectl {__version__}\n")
        return 0
    if not said.verb or said.verb == "help" or _HELP.intersection(said.before):
        return _help(said, program)
    before = arguments.top(program).parse_args(said.before)
    _check_verb(said.verb, program, said.before)
    module, parser = verb_parser(said.verb, program)
    try:
        given = parser.parse_args(said.after, before)
    except SystemExit:  # its help was asked for, and is written
        return 0
    try:
        return int(module.run(given, _desk(given)))
    except WrongUsage as wrong:
        parser.error(str(wrong))


def _help(said: arguments.Split, program: str) -> int:
    """Describe all verbs, or the one that is named."""
    arguments.top(program).parse_args([word for word in said.before if word not in _HELP])
    if not said.after or said.after[0].startswith("-"):
        sys.stdout.write(arguments.usage(program))
        return 0
    verb = said.after[0]
    if verb == "help":
        sys.stdout.write(f"usage: {program} help [command]\n\n" + arguments.VERBS["help"] + "\n")
        return 0
    _check_verb(verb, program)
    sys.stdout.write(verb_parser(verb, program)[1].format_help())
    return 0


def _check_verb(verb: str, program: str, before: Sequence[str] = ()) -> None:
    if verb in arguments.NAMES:
        return
    if len(before) > 1 and before[-1] in arguments.NAMES:  # it was taken for the flag's value
        raise WrongUsage(f"{program}: {before[-2]}: expected a value after it, before the command {before[-1]}")
    near = difflib.get_close_matches(verb, arguments.NAMES, 1)
    meant = f"did you mean `{program} {near[0]}`?" if near else f"`{program} help` lists the commands"
    raise WrongUsage(f"{program}: there is no command {verb!r}: {meant}")


def verb_parser(verb: str, program: str = arguments.PROGRAM) -> tuple[ModuleType, arguments.Parser]:
    """Return a verb's module, which has EXAMPLES, arguments and run, and its parser."""
    module = import_module(f"launcher.desk.verbs.{verb}")
    summary = {**arguments.VERBS, **arguments.PFS_VERBS}[verb]
    return module, arguments.parser_of(
        verb, module.arguments, summary=summary, examples=module.EXAMPLES, program=program
    )


def _desk(given: Namespace) -> Desk:
    terminal = Terminal.of(quiet=getattr(given, "q", False), verbose=getattr(given, "v", False))
    return Desk(DeskFlags.said(given), terminal=terminal)
