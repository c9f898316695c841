"""Errors at the desk, each with a sentence for the user.

No I/O here.
"""

from __future__ import annotations

from launcher.job.problem import JobError


class Problem(JobError):
    """An error for the user: the thing, its trouble and the remedy; the exit code is 1."""

    def __init__(self, sentence: str) -> None:
        super().__init__([sentence])


class Mistyped(Problem):
    """A word that is wrong whatever is there: the exit code is that of wrong usage."""

    code = 2


class Refused(Problem):
    """The API server's own refusal, with its status code and the message as it came."""

    def __init__(self, sentence: str, *, status: int, message: str, after: float = 0.0) -> None:
        super().__init__(sentence)
        self.status = status
        self.message = message
        self.after = after  # seconds that the server asks for


class Unreachable(Problem):
    """The API server could not be reached, or the connection broke."""
