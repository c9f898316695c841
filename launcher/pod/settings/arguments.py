"""The command line: flags for the trainer, then `--` and a command.

No I/O here. Written by hand: argparse knows only flags that are named to it, and takes 10 ms and 2 MB to import.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from launcher.pod.settings.masking import hidden


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """The flags for the trainer, in the order given: names without dashes, None where no value was."""

    pairs: tuple[tuple[str, str | None], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names alone."""
        return tuple(name for name, _ in self.pairs)

    @property
    def words(self) -> tuple[str, ...]:
        """The flags as words of a command line."""
        return tuple(f"--{name}" if value is None else f"--{name}={value}" for name, value in self.pairs)


def parse_arguments(arguments: Sequence[str], problems: list[str]) -> tuple[Flags, tuple[str, ...]]:
    """Return the trainer's flags, and the command after `--`; what is wrong goes to the problems."""
    words = list(arguments)
    command: tuple[str, ...] = ()
    if "--" in words:
        cut = words.index("--")
        words, command = words[:cut], tuple(words[cut + 1 :])
        if not command:
            problems.append("arguments end with `--`: expected a command after it")
    pairs: list[tuple[str, str | None]] = []
    for word in words:
        if word.startswith("--"):
            name, given, value = word[2:].partition("=")
            pairs.append((name, value if given else None))
            if not name:
                problems.append("argument '--=...': expected --name=value")
        elif pairs and pairs[-1][1] is None:
            pairs[-1] = (pairs[-1][0], word)
        else:
            # After a flag the word is not shown: it may be the end of a secret with a blank in it.
            stray = f"a word after --{pairs[-1][0]}" if pairs else f"{hidden(word)!r}"
            problems.append(f"argument {stray}: expected --name=value, --name value, or `--` before a command")
    return Flags(pairs=tuple(pairs)), command
