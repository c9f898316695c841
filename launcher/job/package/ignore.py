"""What of a package stays at home: the patterns of `.paddleignore`, a subset of git's that means the same.

No I/O here. Python 3.8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from re import Pattern

IGNORE = ".paddleignore"
# A letter that is meant as it is, *, ?, one of several letters, and any other letter.
_TOKEN = re.compile(r"\\(.)|(\*)|(\?)|\[([!^]?)(\]?[^]/]+|\])\]|(.)", re.DOTALL)
# What Python reads otherwise than git in such a class.
_IN_A_CLASS = re.compile(r"[]\\[&~|]|^-|(?<=.-)-")


class NoPattern(ValueError):
    """A line that is none; the message names it."""


@dataclass(frozen=True)
class Rule:
    """One line: which paths it is about, and whether they are left out or taken back."""

    path: Pattern[str]
    directories: bool
    back: bool = False


def rules(text: str) -> tuple[Rule, ...]:
    """Return the rules of a file."""
    lines = ((number, line.rstrip()) for number, line in enumerate(text.splitlines(), 1))
    return tuple(_rule(line, number) for number, line in lines if line.strip("/!") and not line.startswith("#"))


def left_out(found: Sequence[Rule], path: str, *, directory: bool) -> bool:
    """Return whether a path is left out, the last rule about it decides; what is below a directory goes with it."""
    about = [each for each in found if (directory or not each.directories) and each.path.fullmatch(path)]
    return bool(about) and not about[-1].back


def _rule(line: str, number: int) -> Rule:
    back = line.startswith("!")
    pattern = line[1:] if back else line
    parts = pattern.strip("/").split("/")
    # With a slash before its end it is a path from the top, else a name at any depth.
    anywhere = "" if "/" in pattern.rstrip("/") else "(?:.*/)?"
    try:
        path = re.compile(anywhere + "".join(_expressions(parts)), re.DOTALL)
    except re.error as error:
        raise NoPattern(f"line {number}: {line!r} is not a pattern ({error})") from None
    return Rule(path=path, directories=pattern.endswith("/"), back=back)


def _expressions(parts: Sequence[str]) -> Iterator[str]:
    *before, last = parts
    for part in before:
        yield "(?:[^/]+/)*" if part == "**" else f"{_expression(part)}/"
    yield ".+" if last == "**" else _expression(last)


def _expression(part: str) -> str:
    return "".join(_of_token(*match.groups()) for match in _TOKEN.finditer(part))


def _of_token(
    meant: str | None, star: str | None, one: str | None, no: str | None, few: str | None, other: str
) -> str:
    if star:
        return "[^/]*"
    if one:
        return "[^/]"
    if few:
        letters = _IN_A_CLASS.sub(r"\\\g<0>", few)
        return f"(?!/)[{'^' if no else ''}{letters}]"  # a range may have a slash in it
    if other == "[":
        raise re.error("a [ without its ]; \\[ is the letter")
    return re.escape(meant or other)
