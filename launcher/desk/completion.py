"""What may stand in the place of the last word of a command line, by the parsers of the verbs.

No I/O here.
"""

from __future__ import annotations

from argparse import Action, ArgumentError, Namespace
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from launcher.desk.arguments import NAMES, Parser, split_words, top

FILE_NAMES, JOB_NAMES, THESE = "files", "jobs", "words"
_FILES = {"DIR", "FILE", "dest", "package", "src"}  # a flag's value, or a word, of this name is a file's
_WITH_JOBS = {"job", "jobs", "worker", "workers"}  # what `get` and `delete` take names of jobs for


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """What is meant by the last word: one of these words, a job, or a file of this machine."""

    kind: str = THESE
    words: tuple[str, ...] = ()
    before: str = ""  # what of the last word stands already, such as -o=

    def offered(self, last: str, names: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the words and the names that begin as the last word does."""
        every = (f"{self.before}{each}" for each in (*self.words, *names))
        return tuple(each for each in every if each.startswith("" if last == "=" else last))


@dataclass(slots=True, kw_only=True)
class Typed:
    """The words before the last one: what flags say, those that are none, and a flag that waits for its value."""

    said: Namespace = field(default_factory=Namespace)
    words: list[str] = field(default_factory=list)
    waits: Action | None = None

    def take(self, parser: Parser, typed: Sequence[str]) -> Typed:
        """Take more words, as this parser understands them."""
        known = parser._option_string_actions
        for word in typed:
            name, given, value = word.partition("=")
            if self.waits:
                self._keep(parser, self.waits, word)
                self.waits = None
            elif name in known and known[name].nargs is None and given:
                self._keep(parser, known[name], value)
            elif name in known and known[name].nargs is None:
                self.waits = known[name]
            elif not word.startswith("-"):
                self.words.append(word)
        return self

    def _keep(self, parser: Parser, action: Action, value: str) -> None:
        with suppress(ArgumentError):
            action(parser, self.said, value)


def completed(words: Sequence[str], parser_of: Callable[[str], Parser]) -> tuple[Completed, Namespace]:
    """Return what the last word may be, and what the flags before it say."""
    *before, last = words or ("",)
    last = "" if last == "=" else last  # bash divides words there
    said = split_words([word for word in before if word != "="])
    typed = Typed().take(top(), said.before)
    if not said.verb:
        return _last(top(), typed, last, NAMES), typed.said
    if said.verb not in NAMES or said.verb == "help":
        return Completed(words=NAMES if said.verb == "help" and not said.after else ()), typed.said
    parser = parser_of(said.verb)
    return _last(parser, typed.take(parser, said.after), last, ()), typed.said


def _last(parser: Parser, typed: Typed, last: str, verbs: Sequence[str]) -> Completed:
    known, (name, given, _) = parser._option_string_actions, last.partition("=")
    if typed.waits:
        return _value(typed.waits, typed)
    if given and name in known:
        return _value(known[name], typed, before=f"{name}=")
    if last.startswith("-"):
        return Completed(words=tuple(each for each in known if last.startswith("--") or not each.startswith("--")))
    return Completed(words=tuple(verbs)) if verbs else _value(_place(parser, len(typed.words)), typed)


def _place(parser: Parser, at: int) -> Action | None:
    """Return what stands at this place among the words that are no flags."""
    places = parser._get_positional_actions()
    again = at >= len(places) and places and places[-1].nargs in ("*", "+")
    return places[-1] if again else places[at] if at < len(places) else None


def _value(action: Action | None, typed: Typed, before: str = "") -> Completed:
    if action is None:
        return Completed()
    if action.choices is not None:
        return Completed(words=tuple(map(str, action.choices)), before=before)
    if action.dest == "job" or (action.dest == "name" and _WITH_JOBS.intersection(typed.words[:1])):
        return Completed(kind=JOB_NAMES)
    return Completed(kind=FILE_NAMES if {action.metavar, action.dest} & _FILES else THESE, before=before)
