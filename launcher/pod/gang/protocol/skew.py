"""Which trainer takes longer for a step than the others do, over windows of time: told once, never acted on.

No I/O here. The leader keeps the state, one for each generation.

The gang's median is the lower of the two in the middle: where half of the gang is slow, the other half is the
measure, and of two trainers the faster one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import median_low

from launcher.pod.gang.protocol.messages import AlarmTold, Pace, Trouble
from launcher.pod.gang.protocol.reasons import seconds_words

WINDOW = 10.0  # seconds
ABOVE = 1.5  # times the median
WINDOWS = 5  # in a row
# What its steps took longer than the median is to be this part of the time: where the trainers do little themselves,
# and wait for most of a step, twice of little is nothing.
NOTICED = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Lap:
    """One trainer's window under way, what it was at the last one's end, and in how many windows it has been slow.

    A window goes on until it has a step: one without any counts for nothing.
    """

    at: float
    begun: Pace
    step: float | None = None  # seconds
    steps: int = 0
    lasted: float = 0.0
    slow: int = 0
    since: float = 0.0
    told: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewState:
    """The trainers' windows by rank; `due` is when they are looked at next."""

    due: float = 0.0
    laps: Mapping[int, Lap] = field(default_factory=dict)


def skewed(state: SkewState, paces: Mapping[int, Pace], now: float) -> tuple[SkewState, tuple[AlarmTold, ...]]:
    """Return the state after a look, and who is to be told as slow; whoever tells it adds the node."""
    if now < state.due:
        return state, ()
    laps = {rank: _after(state.laps.get(rank), pace, now) for rank, pace in paces.items()}
    usual = _usual(laps)
    if usual is None:
        return SkewState(due=now + WINDOW, laps=laps), ()
    laps = {rank: _judged(lap, usual, now) if lap.at == now else lap for rank, lap in laps.items()}
    late = [rank for rank, lap in sorted(laps.items()) if lap.slow >= WINDOWS and not lap.told]
    found = tuple(_told(rank, laps[rank], usual, now) for rank in late)
    laps |= {rank: replace(laps[rank], told=True) for rank in late}
    return SkewState(due=now + WINDOW, laps=laps), found


def ratios(state: SkewState) -> Mapping[int, float]:
    """Return how long each trainer's step takes in the gang's medians, of those that made any."""
    usual = _usual(state.laps)
    if usual is None:
        return {}
    return {rank: lap.step / usual for rank, lap in state.laps.items() if lap.step is not None}


def _after(lap: Lap | None, pace: Pace, now: float) -> Lap:
    """Return its window after a look: another one where it made a step."""
    if lap is None or pace.steps < lap.begun.steps:
        return Lap(at=now, begun=pace)
    steps = pace.steps - lap.begun.steps
    if not steps:
        return lap
    step = max(0.0, pace.busy - lap.begun.busy) / steps
    return replace(lap, at=now, begun=pace, step=step, steps=steps, lasted=now - lap.at)


def _usual(laps: Mapping[int, Lap]) -> float | None:
    """Return the median of the trainers' last steps; nothing where there is none to compare with."""
    steps = [lap.step for lap in laps.values() if lap.step is not None]
    usual = median_low(steps) if len(steps) > 1 and 2 * len(steps) >= len(laps) else 0.0
    return usual or None


def _judged(lap: Lap, usual: float, now: float) -> Lap:
    step = lap.step or 0.0
    more = (step - usual) * lap.steps
    if step <= ABOVE * usual or more < NOTICED * lap.lasted:
        return replace(lap, slow=0)
    return replace(lap, slow=lap.slow + 1, since=lap.since if lap.slow else now - lap.lasted)


def _told(rank: int, lap: Lap, usual: float, now: float) -> AlarmTold:
    step = lap.step or 0.0
    against = f"{seconds_words(step)} against {seconds_words(usual)}"
    slow = f"takes {step / usual:.1f} times as long for a step as the gang's median ({against})"
    return AlarmTold(
        kind=Trouble.SLOW, rank=rank, node="", reason=f"trainer {rank} {slow}, for {now - lap.since:.0f} s"
    )
