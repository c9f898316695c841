"""What a job cannot be: every sentence at once, before anything is sent.

No I/O here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class JobError(ValueError):
    """A job that cannot be as it is described, or a verb that cannot be here; `problems` has a sentence for each."""

    code = 1

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))
