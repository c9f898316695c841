"""The command line: flags with one dash or two, flags for all verbs before the verb or after it.

No I/O here.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NoReturn

VERBS = {
    "commands": "list all command names",
    "completion": "Print a script that completes what is typed.",
    "delete": "Delete the specify resource.",
    "describe": "Show everything about a job: ranks, reasons, events.",
    "doctor": "Check everything that a job needs, with a remedy for each problem.",
    "file": "Simple file operations.",
    "flags": "describe the top-level flags",
    "get": "Print resources",
    "goodput": "Show how much of the time of jobs was training that was kept.",
    "help": "describe subcommands and their syntax",
    "kill": "Stop the job. -rm will remove the job from history.",
    "local": "Run a job on this machine.",
    "logs": "Print logs of the job.",
    "open": "Open a running job's page in a browser.",
    "registry": "Add registry secret on paddlectl.",
    "report": "Write a page with a job's timeline and curves.",
    "resume": "Let a job go on that was suspended or killed.",
    "scale": "Change how many pods an elastic job has.",
    "stacks": "Show where a running job's programs stand, and who differs.",
    "submit": "Submit job to PaddlePaddle Cloud.",
    "suspend": "End a job's pods until it is resumed.",
    "top": "Show a running job, one row a rank, the slowest first.",
    "wait": "Wait until a job runs, is complete or has failed.",
}
PFS_VERBS = {
    "cp": "upload or download files",
    "ls": "List files on PaddlePaddle Cloud",
    "mkdir": "mkdir directoies on PaddlePaddle Cloud",
    "rm": "rm files on PaddlePaddle Cloud",
}
NAMES = (*VERBS, *PFS_VERBS)
PROGRAM = "paddlectl"
_PLUGIN = "kubectl-paddle"


class WrongUsage(Exception):
    """A command line that cannot be understood."""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process, and takes no flag but those that are spelled out."""

    def __init__(self, *, hint: str = "", **more: Any) -> None:  # noqa: ANN401  # as argparse's
        super().__init__(allow_abbrev=False, add_help=False, **more)
        self._hint = hint

    def error(self, message: str) -> NoReturn:
        """Raise the mistake with the line to type."""
        raise WrongUsage(f"{self.prog}: {plain_words(message)}; {self._hint}")

    def parse_args(self, args: Sequence[str], namespace: argparse.Namespace | None = None) -> argparse.Namespace:  # type: ignore[override]  # as it is called here
        """Parse; of unknown words the message repeats only flags: what follows may be a secret."""
        given, rest = self.parse_known_args(args, namespace)
        if rest:
            flags = [word.partition("=")[0] for word in rest if word.startswith("-")]
            self.error(f"unrecognized arguments: {' '.join(flags or rest)}")
        return given

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401  # as argparse's
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, f"{value!r}: expected one of {', '.join(map(str, action.choices))}")

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


def plain_words(message: str) -> str:
    """Return what argparse says of a mistake, with a flag in one of its spellings."""
    once = re.sub(r"(?<!\S)(--?[\w-]+)(?:/--?[\w-]+)+", r"\1", message)
    once = once.replace("the following arguments are required:", "expected")
    return once.removeprefix("argument ").replace(": expected one argument", ": expected a value after it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The words before the verb, the verb, and the words after it."""

    before: tuple[str, ...]
    verb: str
    after: tuple[str, ...]


def split_words(words: Sequence[str]) -> Split:
    """Return the words around the verb, the first word that is neither a flag nor a flag's value."""
    at, known = 0, top()._option_string_actions
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in known and known[words[at]].nargs is None else 1
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
        group, "context", metavar="NAME", default=quiet, help="a context of the kubeconfig, in place of a datacenter"
    )
    flag(
        group, "kubeconfig", metavar="FILE", default=quiet, help="a kubeconfig, in place of a datacenter (KUBECONFIG)"
    )
    short = () if "-n" in parser._option_string_actions else ("n",)  # that of logs may be a number of lines, too
    flag(
        group,
        "namespace",
        *short,
        metavar="NAME",
        default=quiet,
        help="the namespace (the datacenter's, the kubeconfig context's)",
    )
    flag(group, "q", "quiet", action="store_true", default=quiet, help="only results and failures")
    flag(group, "v", "verbose", action="store_true", default=quiet, help="also every request to the API server")


def harmless(parser: argparse.ArgumentParser, **letters: str) -> None:
    """Add flags that hands have learnt elsewhere: they are taken, and have no effect."""
    for letter, why in letters.items():
        flag(parser, letter, action="store_true", help=f"no effect: {why}")


def of_one_job(parser: argparse.ArgumentParser) -> None:
    """Add the name of a job; job/NAME, as in kubectl, is the same."""
    parser.add_argument("job", type=job_name)


def of_jobs(parser: argparse.ArgumentParser) -> None:
    """Add the names of one job or several."""
    parser.add_argument("job", nargs="+", type=job_name, help="one or several")


def job_name(text: str) -> str:
    """Return the name in job/NAME."""
    return re.sub(r"^jobs?/", "", text)


def parser_of(
    verb: str,
    arguments: Callable[[argparse.ArgumentParser], None],
    *,
    summary: str,
    examples: str,
    program: str = PROGRAM,
) -> Parser:
    """Return the parser of a verb."""
    parser = Parser(
        prog=f"{program} {verb}",
        hint=f"`{program} help {verb}` shows how",
        description=summary,
        epilog=f"examples:\n{examples.replace(f'{PROGRAM} ', f'{program} ')}" if examples else "",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-h", "-help", "--help", action="help", help="show this page")
    arguments(parser)
    for_all(parser)
    return parser


def top(program: str = PROGRAM) -> Parser:
    """Return the parser of the words before the verb."""
    parser = Parser(
        prog=program,
        hint=f"`{program} flags` lists those that may stand before a command",
        usage=f"{program} <flags> <subcommand> <subcommand args>",
    )
    for_all(parser)
    flag(parser, "version", action="store_true", help="show the version")
    return parser


def called(path: str) -> str:
    """Return what the program is called in lines to type: by kubectl it is a plugin."""
    return _PLUGIN.replace("-", " ") if PurePath(path).stem == _PLUGIN else PROGRAM


def usage(program: str = PROGRAM) -> str:
    """Return the page that is shown without a verb, as in the seeds."""
    return (
        f"Usage: {program} <flags> <subcommand> <subcommand args>\n\n"
        f"Subcommands:\n{_listed(VERBS)}\n"
        f"Subcommands for PFS:\n{_listed(PFS_VERBS)}\n\n"
        f'Use "{program} flags" for a list of top-level flags\n'
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
