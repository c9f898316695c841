"""Whether a trainer stands still: no output, no CPU and no progress for a whole time-out, and not because it waits.

No I/O here. Only time in which the launcher looked counts: a launcher that was itself stopped saw nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

# Less than this part of one core is no work: a thread that wakes now and then to see whether there is any.
_IDLE = 0.01
LOOKS = 10
SHORTEST, _LONGEST = 0.05, 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What is seen of a trainer: bytes of output, CPU seconds, what it reported, whether it waits for others.

    `waits` is what it waits for, where that is watched: then it is a change of them that is a sign of life.
    """

    output: int
    cpu: float
    progress: object = None
    waiting: bool = False
    waits: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StallState:
    """How the trainer was at its last sign of life, when it was last seen, and for how many seconds it was still."""

    alive: Sample
    seen: float
    still: float = 0.0


def begin(sample: Sample, now: float) -> StallState:
    """Return the state of a trainer that was just started, or looked at for the first time."""
    return StallState(alive=sample, seen=now)


def observe(state: StallState, sample: Sample, now: float, timeout: float) -> StallState:
    """Return the state after one more look; two looks too far apart count as if they were not."""
    still = state.still + min(now - state.seen, 2 * _pace(timeout))
    if _moved(state.alive, sample, still):
        return begin(sample, now)
    return replace(state, seen=now, still=still)


def stalled(state: StallState, timeout: float) -> bool:
    """Return whether the trainer was seen to stand still for the whole time-out."""
    return state.still >= timeout


def stall_due(state: StallState, timeout: float) -> float:
    """Return when to look next."""
    return state.seen + _pace(timeout)


def stall_words(name: str, seconds: float, *, stacks: bool = True) -> str:
    """Return the reason in a sentence; `stacks` is whether a Python was made to write its own."""
    said = f"{name} stood still for {seconds:g} s (no output, no CPU, no progress)"
    return f"{said}; the stacks of its threads are in its log" if stacks else said


def _moved(alive: Sample, sample: Sample, still: float) -> bool:
    """Return whether there is a sign of life; CPU seconds that shrink are one too: a process below it ended."""
    used = sample.cpu - alive.cpu
    return (
        sample.waiting
        or sample.output != alive.output
        or sample.progress != alive.progress
        or sample.waits != alive.waits
        or used < 0
        or (used > 0 and used >= _IDLE * still)
    )


def _pace(timeout: float) -> float:
    return min(max(timeout / LOOKS, SHORTEST), _LONGEST)
