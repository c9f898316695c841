"""How a generation ends that is to end as planned: its programs have a while, in which they may save a pass.

No I/O here. There is such a while only where a program asks for it, by `here.leaving()`, or `LAUNCHER_NOTICE` is set.
All trainers are told at the same one of their calls: those that have not been told yet wait in the next call until
each launcher has said how many of its calls it let go on, and the first call that none has left is the one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from launcher.pod.gang.protocol import lease
from launcher.pod.gang.protocol.messages import Failure, Leaving, Marks, Status
from launcher.pod.gang.protocol.planned.new_pass import PassLook, all_saved, looked
from launcher.pod.gang.protocol.state import Rules, View
from launcher.pod.settings.nouns import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEnd:
    """Why a generation ends soon, at which time at the latest, and what is known of a pass saved meanwhile."""

    cause: Failure
    until: float
    passes: PassLook = field(default_factory=PassLook)


def window_of(marks: Sequence[Marks], rules: Rules) -> float:
    """Return for how long programs go on once a launcher was told to stop: not at all where none asks for it."""
    asked = rules.noticed or any(each.leave is not None for each in marks)
    return rules.window if asked else 0.0


def may_go_on(cause: Failure, view: View, rules: Rules) -> bool:
    """Return whether what ends a generation lets it go on for a while: who was told to stop is there still."""
    there = not cause.address or lease.answers(view.of(cause.address), view.now, rules.limits)
    return cause.told and there


def plan_end(cause: Failure, seconds: float, view: View) -> tuple[PlannedEnd, Leaving]:
    """Return what the leader keeps of a while that begins now, and what it says of it."""
    return PlannedEnd(cause=cause, until=view.now + seconds), Leaving(why=cause.reason, seconds=seconds)


def call_agreed(leaving: Leaving, marks: Sequence[Marks]) -> Leaving:
    """Return it with the call at which all trainers are told, once every launcher has said what is left to it."""
    calls = [each.leave or 0 for each in marks]
    known = not leaving.call and calls and all(calls)
    return replace(leaving, call=max(calls)) if known else leaving


def is_due(before: PlannedEnd, number: int, statuses: Sequence[Status], view: View) -> tuple[PlannedEnd, bool]:
    """Return what is kept, and whether nothing is waited for any more: a pass is saved, or all have ended."""
    pods = [status for status in statuses if status.who.role is not Role.PSERVER]
    after = replace(before, passes=looked(before.passes, view))
    marks = [trainer.marks for status in pods for trainer in status.trainers]
    ended = not any(status.children == number for status in pods)
    return after, ended or after.passes.came or all_saved(marks) or view.now >= before.until
