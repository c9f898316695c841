"""Whether a trainer that reports steps makes none for far longer than its last ones took, whatever it does meanwhile.

No I/O here. Only time in which the launcher looked counts, and none that went into waits, savings or phases of a step
other than compute. A stand that was told and went on by itself was none: where each pass has an evaluation after it,
the first is told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from launcher.pod.gang.protocol.reasons import seconds_words

WARM_UP = 5  # steps: they compile, fill caches, find each other
LAST = 50  # steps, whose median counts
TIMES = 10  # that median
LEAST = 60.0  # seconds
LONGER = 2  # than the longest stand that went on by itself
_SHORTEST, _LONGEST, _LOOKS = 0.05, 5.0, 10  # seconds between two looks, and how many in the least time


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceState:
    """What was seen of a trainer's steps: so many, `away` seconds of other things, and `still` since the last step.

    `recent` has the last steps: how many were seen at once, and the seconds of each. `ended` is the longest stand
    that was told and went on.
    """

    steps: int
    away: float
    seen: float
    still: float = 0.0
    recent: tuple[tuple[int, float], ...] = ()
    ended: float = 0.0
    told: bool = False


def watched_from(steps: int, away: float, now: float) -> PaceState:
    """Return the state of a trainer that is looked at for the first time."""
    return PaceState(steps=steps, away=away, seen=now)


def paced(state: PaceState, steps: int, away: float, now: float, least: float) -> PaceState:
    """Return the state after one more look; two looks too far apart count as if they were not."""
    went_by = min(max(now - state.seen, 0.0), 2 * _between_looks(least))
    still = state.still + max(went_by - max(away - state.away, 0.0), 0.0)
    if steps <= state.steps:
        return replace(state, away=away, seen=now, still=still)
    count = steps - max(state.steps, WARM_UP)
    recent = _last((*state.recent, (count, still / (steps - state.steps)))) if count > 0 else state.recent
    ended = max(state.ended, still) if state.told else state.ended
    return PaceState(steps=steps, away=away, seen=now, recent=recent, ended=ended)


def usual(state: PaceState) -> float:
    """Return the median of the last steps' seconds, 0 where there are none."""
    half, seen = sum(count for count, _ in state.recent) / 2, 0
    for seconds, count in sorted((seconds, count) for count, seconds in state.recent):
        seen += count
        if seen >= half:
            return seconds
    return 0.0


def limit(state: PaceState, least: float) -> float:
    """Return for how many seconds it may make no step."""
    return max(least, TIMES * usual(state), LONGER * state.ended)


def overdue(state: PaceState, least: float) -> bool:
    """Return whether no step has come for too long, and that was not told yet."""
    return bool(state.recent) and not state.told and state.still >= limit(state, least)


def pace_due(state: PaceState, least: float) -> float:
    """Return when to look next."""
    return state.seen + _between_looks(least)


def late_words(state: PaceState, *, works: bool) -> str:
    """Return what is told of it; `works` is whether it uses CPU."""
    usually = f"its last {min(sum(count for count, _ in state.recent), LAST)} took {seconds_words(usual(state))} each"
    does = "though it uses CPU" if works else "and it uses no CPU"
    return f"has made no step for {state.still:.0f} s; {usually}, {does}"


def _last(batches: tuple[tuple[int, float], ...]) -> tuple[tuple[int, float], ...]:
    """Return the newest that have the last steps."""
    total = 0
    for index in range(len(batches) - 1, -1, -1):
        total += batches[index][0]
        if total >= LAST:
            return ((batches[index][0] - total + LAST, batches[index][1]), *batches[index + 1 :])
    return batches


def _between_looks(least: float) -> float:
    return min(max(least / _LOOKS, _SHORTEST), _LONGEST)
