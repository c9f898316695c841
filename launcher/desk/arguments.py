"""The command line: flags with one dash or two, flags for all verbs before the verb or after it.

No I/O here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

VERBS = {
    "commands": "list all command names",
    "delete": "Delete the specify resource.",
    "describe": "Show everything about a job: ranks, reasons, events.",
    "doctor": "Check everything that a job needs, with a remedy for each problem.",
    "file": "Simple file operations.",
    "flags": "describe the top-level flags",
    "get": "Print resources",
    "help": "describe subcommands and their syntax",
    "kill": "Stop the job. -rm will remove the job from history.",
    "local": "Run a job on this machine.",
    "logs": "Print logs of the job.",
    "registry": "Add registry secret on paddlectl.",
    "report": "Write a page with a job's timeline and curves.",
    "resume": "Let a job go on that was suspended or killed.",
    "submit": "Submit job to PaddlePaddle Cloud.",
    "suspend": "End a job's pods until it is resumed.",
    "wait": "Wait until a job runs, is complete or has failed.",
}
PFS_VERBS = {
    "cp": "upload or download files",
    "ls": "List files on PaddlePaddle Cloud",
    "mkdir": "mkdir directoies on PaddlePaddle Cloud",
    "rm": "rm files on PaddlePaddle Cloud",
}
NAMES = (*VERBS, *PFS_VERBS)
VALUED = ("config", "datacenter", "namespace")


class WrongUsage(Exception):
    """A command line that cannot be understood."""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process, and takes no flag but those that are spelled out."""

    def error(self, message: str) -> NoReturn:
        """Raise the usage and the mistake."""
        raise WrongUsage(f"{self.format_usage()}{self.prog}: {message}; `{self.prog} -h` shows more")

    def parse_args(self, args: Sequence[str], namespace: argparse.Namespace | None = None) -> argparse.Namespace:  # type: ignore[override]  # as it is called here
        """Parse; of unknown words the message repeats only flags: what follows may be a secret."""
        given, rest = self.parse_known_args(args, namespace)
        if rest:
            flags = [word.partition("=")[0] for word in rest if word.startswith("-")]
            self.error(f"unrecognized arguments: {' '.join(flags or rest)}")
        return given

    def _get_option_tuples(self, option_string: str) -> list[Any]:
        """Return the one-letter flags in a word such as -fv, -n20 or -ojson, where no flag is spelled so.

        `allow_abbrev` is heeded for two dashes alone: argparse takes -r for -rm, which removes a job.
        """
        found = [each for each in super()._get_option_tuples(option_string) if each[1] == option_string[:2]]
        return [each for each in found if self._is_meant(each[0], option_string[1:])]

    def _is_meant(self, first: argparse.Action, letters: str) -> bool:
        known, rest = self._option_string_actions, letters[1:]
        switches = all(f"-{letter}" in known and known[f"-{letter}"].nargs == 0 for letter in letters)
        return switches or rest.isdecimal() or rest in (first.choices or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The words before the verb, the verb, and the words after it."""

    before: tuple[str, ...]
    verb: str
    after: tuple[str, ...]


def split_words(words: Sequence[str]) -> Split:
    """Return the words around the verb, the first word that is neither a flag nor a flag's value."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        valued = words[at].lstrip("-") in VALUED
        at += 2 if valued else 1
    verb = words[at] if at < len(words) else ""
    return Split(before=tuple(words[:at]), verb=verb, after=tuple(words[at + 1 :]))


def flag(parser: argparse._ActionsContainer, *names: str, **more: object) -> None:
    """Add a flag that may be written with one dash or two."""
    spelled = [f"{dashes}{name}" for name in names for dashes in (("-",) if len(name) == 1 else ("-", "--"))]
    parser.add_argument(*spelled, dest=names[0].replace("-", "_"), **more)  # type: ignore[arg-type]  # as argparse's


def for_all(parser: argparse.ArgumentParser) -> None:
    """Add the flags that every verb has."""
    quiet = argparse.SUPPRESS  # so that a flag before the verb keeps its value after it
    group = parser.add_argument_group("flags of all commands")
    flag(group, "config", metavar="FILE", default=quiet, help="the configuration (PADDLE_CONFIG, ~/.paddle/config)")
    flag(
        group,
        "datacenter",
        metavar="NAME",
        default=quiet,
        help="which of its datacenters (PADDLE_DATACENTER, current-datacenter)",
    )
    flag(
        group,
        "namespace",
        metavar="NAME",
        default=quiet,
        help="the namespace (the datacenter's, the kubeconfig context's)",
    )
    flag(group, "q", "quiet", action="store_true", default=quiet, help="only results and failures")
    flag(group, "v", "verbose", action="store_true", default=quiet, help="also every request to the API server")


def parser_of(
    verb: str, arguments: Callable[[argparse.ArgumentParser], None], *, summary: str, examples: str
) -> Parser:
    """Return the parser of a verb."""
    parser = Parser(
        prog=f"paddlectl {verb}",
        description=summary,
        epilog=f"examples:\n{examples}" if examples else "",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("-h", "-help", "--help", action="help", help="show this page")
    arguments(parser)
    for_all(parser)
    return parser


def top() -> Parser:
    """Return the parser of the words before the verb."""
    parser = Parser(
        prog="paddlectl", add_help=False, allow_abbrev=False, usage="paddlectl <flags> <subcommand> <subcommand args>"
    )
    for_all(parser)
    flag(parser, "version", action="store_true", help="show the version")
    return parser


def usage() -> str:
    """Return the page that is shown without a verb, as in the seeds."""
    return (
        "Usage: paddlectl <flags> <subcommand> <subcommand args>\n\n"
        f"Subcommands:\n{_listed(VERBS)}\n"
        f"Subcommands for PFS:\n{_listed(PFS_VERBS)}\n\n"
        'Use "paddlectl flags" for a list of top-level flags\n'
    )


def _listed(verbs: dict[str, str]) -> str:
    return "".join(f"\t{name:<16} {summary}\n" for name, summary in verbs.items())


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return a parser of whole numbers from `low` to `high`."""

    def whole_number(text: str) -> int:
        if not (text.isdecimal() and len(text) < 10 and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from {low} to {high}")
        return int(text)

    return whole_number


def seconds(text: str) -> int:
    """Return a duration such as 90, 90s, 10m, 2h in seconds."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, "s")
    if not (number.isdecimal() and len(number) < 9):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a time such as 90s, 10m or 2h")
    return int(number) * units[unit]
