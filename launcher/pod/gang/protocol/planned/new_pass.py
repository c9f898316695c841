"""Whether a pass was completed since something waits for one: by looks at the volume, or at once by `here.saving`.

No I/O here. The record's thread looks at the passes; what is asked of it is the time of a look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from launcher.pod.gang.protocol.messages import Marks
from launcher.pod.gang.protocol.state import View

LOOK_AGAIN = 1.0  # seconds
SAVED = "here.saving is complete ("  # begins the name of the last step of a saving, as `launcher.here` calls it
NOT_SAVED = "{} not"  # what a trainer shares for which that step failed


@dataclass(frozen=True, slots=True, kw_only=True)
class PassLook:
    """The last look at the passes that was asked for, how many the first found, and whether there are more now."""

    asked: float | None = None
    first: int | None = None
    came: bool = False

    @property
    def due(self) -> float | None:
        """When they are to be looked at again."""
        return None if self.asked is None else self.asked + LOOK_AGAIN


def looked(before: PassLook, view: View) -> PassLook:
    """Return what is known of new passes by now; they are looked at each second."""
    answered = before.asked is not None and view.record.read >= before.asked
    again = before.asked is None or (answered and view.now >= before.asked + LOOK_AGAIN)
    after = replace(before, asked=view.now if again else before.asked)
    if not answered:
        return after
    complete = 0 if view.record.newest is None else view.record.newest + 1
    first = complete if before.first is None else before.first
    return replace(after, first=first, came=before.came or complete > first)


def all_saved(marks: Sequence[Marks]) -> bool:
    """Return whether all trainers have just completed a pass by `here.saving`, which none has left yet."""
    common = set.intersection(*(set(each.at) for each in marks)) if marks else set()
    steps = [name for name in common if name.startswith(SAVED)]
    return any(not any(NOT_SAVED.format(name) in each.shared for each in marks) for name in steps)
