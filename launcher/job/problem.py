"""What a job cannot be: every sentence at once, before anything is sent; and how it names a job's parameters.

No I/O here. Python programs and command lines spell the same parameter in two ways: a sentence says which one it is.
"""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True)
class Parameter:
    """One of a job's, or of its verbs', as it was given; without `given` only its name."""

    name: str
    value: object = None
    given: bool = True

    def __str__(self) -> str:
        return f"{self.name}={self.value!r}" if self.given else self.name


class Mistake:
    """A sentence in parts; each part that is a Parameter is spelled by the side that shows it, else as in Python."""

    def __init__(self, *parts: str | Parameter) -> None:
        self.parts = parts

    def __str__(self) -> str:
        return self.spelled(str)

    def spelled(self, spell: Callable[[Parameter], str]) -> str:
        """Return the sentence with each parameter as this spells it."""
        return "".join(spell(part) if isinstance(part, Parameter) else part for part in self.parts)


class JobError(ValueError):
    """A job that cannot be as it is described, or a verb that cannot be here; `problems` has a sentence for each."""

    code = 1

    def __init__(self, problems: Iterable[str | Mistake]) -> None:
        self.mistakes = tuple(each if isinstance(each, Mistake) else Mistake(each) for each in problems)
        self.problems = tuple(map(str, self.mistakes))
        super().__init__("\n".join(self.problems))

    def spelled(self, spell: Callable[[Parameter], str]) -> tuple[str, ...]:
        """Return the sentences with each parameter as this spells it."""
        return tuple(each.spelled(spell) for each in self.mistakes)
