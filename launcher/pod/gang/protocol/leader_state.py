"""What a leader keeps from one look to the next, and what it reads in a view.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from launcher.pod.gang.protocol.messages import Failure, Generation, Stage, Status, Word
from launcher.pod.gang.protocol.state import Rules, View
from launcher.pod.outcome import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What a leader keeps: its word, what it asked of the record, and the times that its limits count from."""

    word: Word = field(default_factory=Word)
    asked: Generation | None = None
    tried: int = 0  # the highest number that was asked for: one that was given up may yet be made
    sealing: Outcome | None = None  # the verdict, until it stands in the record
    seen: tuple[object, ...] = ()  # of the members, when something changed last
    since: float = 0.0  # that moment
    hold: float = 0.0  # until when somebody may still run of whom nobody here knows; 0 where nobody can
    begun: float | None = None  # when the trainers of this generation started
    quick: int = 0  # failures in a row that came soon
    not_before: float = 0.0


def statuses_of(view: View) -> list[Status]:
    """Return the members' last statuses, in rank order."""
    return [status for address in view.order if (status := view.of(address).status)]


def failure_of(view: View, generation: int) -> Failure | None:
    """Return a failure that a member told of in a generation, if one did."""
    statuses = statuses_of(view)
    found = (each.failure for each in statuses if each.failure and each.failure.generation == generation)
    return next(found, None)


def resume_for(passes_by_member: Sequence[tuple[int, ...] | None]) -> int | None:
    """Return the newest pass that every member with a volume sees as complete."""
    seen = [set(passes) for passes in passes_by_member if passes is not None]
    return max(set.intersection(*seen), default=None) if seen else None


def replaced(view: View) -> bool:
    """Return whether a later gang is complete without any of this one: its pods were deleted, though it is not told.

    It makes no generation any more, or the two would overtake each other until no restart is left; and it gives no
    verdict but theirs.
    """
    latest, ours = view.record.latest, statuses_of(view)
    if latest is None or not latest.number > max(status.known for status in ours) > 0:
        return False
    boots = {status.who.boot for status in ours}
    return all(who.boot not in boots for who in latest.members)


def patience(word: Word, rules: Rules) -> float:
    """Return for how long nothing may change."""
    restarting = word.stage is Stage.GATHERING and word.generation is not None
    return rules.limits.regather if restarting else rules.limits.gather


def number_of(generation: Generation | None) -> int:
    """Return a generation's number, 0 where there is none."""
    return generation.number if generation else 0
