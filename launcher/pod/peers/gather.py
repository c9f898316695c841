"""Makes rosters of what several sources tell, for life: one fold over all.

Until the first roster there is a deadline, an error ends it, and who is missing is told once per change.
After it nothing ends it: a gang that runs is not disturbed because the sources fail.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace

from launcher.pod.log import Tell
from launcher.pod.outcome import JoinError, LauncherError, Revoked
from launcher.pod.peers.roster import NONE_FOUND, FoundPods, Roster, Waiting
from launcher.pod.peers.sources import Ears, Source, State

_SHOWN = 20  # of the running pods, in one line; the reason has their number
AGAIN = 10.0

Rosters = Generator[FoundPods, None, None]

# Makes a roster of what all the sources know, and of what was found before.
Fold = Callable[[Mapping[str, State], FoundPods], FoundPods]


def gather(
    sources: Mapping[str, Source[State]],
    fold: Fold[State],
    tell: Tell,
    *,
    seconds: float,
    deaf: type[LauncherError] = JoinError,
    again: float = AGAIN,
    over: threading.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Rosters:
    """Yield what is known of the gang at each change, never the same twice in a row: Waiting, or the roster.

    `deaf` is the error for a deadline met while a source has trouble; another thread may end all by `over`.
    """
    ears = Ears(sources=sources, over=over or threading.Event(), again=again)
    ears.open()
    try:
        met = yield from _join(ears, fold, tell, seconds=seconds, deaf=deaf, clock=clock)
        if met:
            yield met
            yield from _keep(ears, fold, met)
    finally:
        ears.over.set()


def _join(
    ears: Ears[State],
    fold: Fold[State],
    tell: Tell,
    *,
    seconds: float,
    deaf: type[LauncherError],
    clock: Callable[[], float],
) -> Generator[Waiting, None, Roster | None]:
    """Return the first roster, or None where it is over before."""
    deadline = clock() + seconds
    said = NONE_FOUND
    while ears.hear(min(deadline, said.until) - clock()) or clock() < deadline:
        if ears.ended:
            return None
        found = _first(ears, fold, said)
        if isinstance(found, Roster):
            return found
        if found.reason != said.reason:
            tell("waiting_for_peers", reason=found.reason, running=list(found.running[:_SHOWN]))
        if found != said:
            yield found
        said = found
    raise (JoinError if ears.all_known and not (ears.troubles or ears.broken) else deaf)(
        f"the peers were not found within {seconds:g} s (LAUNCHER_JOIN_TIMEOUT): "
        + (said.reason or "nothing was learned about them")
    )


def _first(ears: Ears[State], fold: Fold[State], said: Waiting) -> FoundPods:
    revoked = [error for error in ears.broken.values() if isinstance(error, Revoked)]
    if len(revoked) < len(ears.broken):
        raise next(error for error in ears.broken.values() if error not in revoked)
    if reasons := {*ears.troubles.values(), *map(str, revoked)}:
        return replace(said, reason="; ".join(sorted(reasons)), running=(), until=math.inf)
    return fold(ears.known, said) if ears.all_known else said


def _keep(ears: Ears[State], fold: Fold[State], said: FoundPods) -> Rosters:
    """Yield each change after the first roster."""
    while ears.hear() and not ears.ended:
        found = _next(ears, fold, said)
        if found != said:
            yield found
        said = found


def _next(ears: Ears[State], fold: Fold[State], said: FoundPods) -> FoundPods:
    """Return what is known; trouble leaves it as it was."""
    try:
        found = fold(ears.known, said)
    except LauncherError as error:
        return Waiting(reason=str(error), key=said.key, met=said.met)
    # A roster that was complete stays so. One that is not may stay so without end, and must say why.
    if ears.broken and isinstance(found, Waiting):
        why = {str(error) or type(error).__name__ for error in ears.broken.values()}
        return replace(found, reason="; ".join(sorted(why)))
    return found
