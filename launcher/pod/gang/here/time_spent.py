"""The seconds that a trainer did something else than its steps, by what that was, for the launcher's life.

No I/O here. They are added up whenever it begins or ends something, never sampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSpent:
    """What it does now and since when, and the seconds of each so far; nothing is its own work."""

    doing: str = ""
    since: float = 0.0
    before: Mapping[str, float] = field(default_factory=dict)

    def seconds(self, now: float) -> Mapping[str, float]:
        """Return the seconds of each until now."""
        if not self.doing:
            return self.before
        return {**self.before, self.doing: self.before.get(self.doing, 0.0) + max(0.0, now - self.since)}

    def turned(self, doing: str, now: float) -> TimeSpent:
        """Return it after it has turned to something."""
        return self if doing == self.doing else TimeSpent(doing=doing, since=now, before=self.seconds(now))

    def away(self, now: float) -> float:
        """Return the seconds of all together."""
        return sum(self.seconds(now).values())
