"""How a gang comes to its verdict: of success, of a failure, of a wait that was too long; sealed before it is given.

No I/O here.
"""

from __future__ import annotations

from dataclasses import replace

from launcher.contract import Code
from launcher.pod.gang.protocol.leader_state import Lead, patience, replaced, statuses_of
from launcher.pod.gang.protocol.messages import Failure, Stage, Status, Word
from launcher.pod.gang.protocol.state import Rules, View
from launcher.pod.outcome import Outcome

# A volume that does not answer holds the verdict no longer than this.
SEALING = 5.0


def seal(before: Lead, cause: Failure, view: View, spent: int = 0) -> Lead:
    """Ask for the verdict of failure to be recorded, and end all children meanwhile."""
    reason = f"{cause.reason}; no restart of {spent} is left" if spent else cause.reason
    verdict = Outcome(code=cause.code, reason=reason, tail=cause.tail)
    word = Word(generation=before.word.generation, cause=cause)
    return replace(before, word=word, asked=None, sealing=verdict, since=view.now)


def sealed(before: Lead, view: View) -> Lead:
    """Give the verdict once it stands in the record: of two leaders' verdicts the first one stands."""
    late = before.sealing if view.now >= before.since + SEALING else None
    verdict = view.record.sealed or late
    if verdict is None:
        return before
    return replace(before, word=replace(before.word, stage=Stage.OVER, verdict=verdict, waiting=""))


def end_if_overdue(before: Lead, after: Lead, view: View, rules: Rules) -> Lead:
    """End what has not changed for too long; a training may take its time."""
    if after.sealing or after.word.verdict or replaced(view):
        return after
    seen = (after.word.stage, after.word.waiting, *map(_visible, statuses_of(view)))
    if seen != before.seen:
        return replace(after, seen=seen, since=view.now)
    most = patience(after.word, rules)
    if after.word.stage is Stage.TRAINING or view.now < after.since + most:
        return after
    code = Code.GANG if after.word.generation else Code.JOIN
    reason = f"nothing changed for {most:g} s: {after.word.waiting or 'waiting'}"
    return seal(after, Failure(generation=after.word.number, code=code, reason=reason), view)


def _visible(status: Status) -> tuple[object, ...]:
    return (status.who.boot, status.phase, status.staged_bytes, status.ready, status.serving, status.children)
