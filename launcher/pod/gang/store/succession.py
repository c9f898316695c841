"""When a run begins after an earlier one of the name: once that one is over, or its counters stood still for long.

No I/O here. A counter is no time of day: nodes' clocks differ, and network volumes remember times. It stands still by
the clock of the one who looks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from launcher.contract import Code
from launcher.pod.gang.protocol import lease
from launcher.pod.gang.protocol.messages import NumberedRun
from launcher.pod.gang.protocol.state import Limits
from launcher.pod.outcome import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Predecessor:
    """The newest earlier run that began, as it was seen at one look: whether it is over, and its counters."""

    run: NumberedRun
    over: bool
    counters: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stillness:
    """What was seen of the predecessor last, when, and since when it has not changed."""

    seen: Predecessor | None = None
    since: float = 0.0
    looked: float = 0.0


def is_over(begun: int, rest: int, verdict: Outcome | None) -> bool:
    """Return whether nothing of a run can begin or run any more, by its last generation, its rest and its verdict.

    After a verdict of failure programs may still be in their grace.
    """
    return rest >= begun or (verdict is not None and verdict.code == 0)


def overtaken(newer: NumberedRun) -> Outcome:
    """Return the verdict of a run of which a newer one is there."""
    reason = f"{newer} has begun: of two runs of one name the newer one goes on"
    return Outcome(code=Code.GANG, reason=reason)


def still(before: Stillness, seen: Predecessor | None, now: float) -> Stillness:
    """Return since when the predecessor has not changed; of a gap between two looks no more than its lease counts.

    In a longer one the volume may have answered nobody, so that its counters could not move.
    """
    if seen is None or before.seen != seen:
        return Stillness(seen=seen, since=now, looked=now)
    unseen = now - lease.alive_until(before.looked, _limits(seen.run))
    return replace(before, since=before.since + max(0.0, unseen), looked=now)


def may_begin(known: Stillness, now: float) -> bool:
    """Return whether nothing of an earlier run can be running any more.

    A leader moves its counter until the last program of its generation has ended. Where it is lost, its own programs
    live for its lease, and the others' for theirs after it counted as lost.
    """
    seen = known.seen
    if seen is None or seen.over:
        return True
    return now >= lease.strangers_until(known.since, _limits(seen.run))


def held(known: Stillness, now: float) -> str:
    """Return for whom a run waits, or nothing; the sentence does not change while it waits."""
    if known.seen is None or may_begin(known, now):
        return ""
    return f"{known.seen.run} may still be running: it has not said that its programs have ended"


def _limits(run: NumberedRun) -> Limits:
    return lease.limits_of(peer=run.peer_timeout, join=0.0, rejoin=0.0)
