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
from launcher.pod.peers.sources import Source, SourceReader, State

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
    in_trouble: type[LauncherError] = JoinError,
    again: float = AGAIN,
    over: threading.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Rosters:
    """Yield what is known of the gang at each change, never the same twice in a row: Waiting, or the roster.

    `in_trouble` is the error for a deadline met while a source has trouble; another thread may end all by `over`.
    """
    reader = SourceReader(sources=sources, over=over or threading.Event(), again=again)
    reader.open()
    try:
        met = yield from _join(reader, fold, tell, seconds=seconds, in_trouble=in_trouble, clock=clock)
        if met:
            yield met
            yield from _keep(reader, fold, met)
    finally:
        reader.over.set()


def _join(
    reader: SourceReader[State],
    fold: Fold[State],
    tell: Tell,
    *,
    seconds: float,
    in_trouble: type[LauncherError],
    clock: Callable[[], float],
) -> Generator[Waiting, None, Roster | None]:
    """Return the first roster, or None where it is over before."""
    deadline = clock() + seconds
    said = NONE_FOUND
    while reader.read(min(deadline, said.until) - clock()) or clock() < deadline:
        if reader.ended:
            return None
        found = _first(reader, fold, said)
        if isinstance(found, Roster):
            return found
        if found.reason != said.reason:
            tell("waiting_for_peers", reason=found.reason, running=list(found.running[:_SHOWN]))
        if found != said:
            yield found
        said = found
    raise (JoinError if reader.all_known and not (reader.troubles or reader.broken) else in_trouble)(
        f"the peers were not found within {seconds:g} s (LAUNCHER_JOIN_TIMEOUT): "
        + (said.reason or "nothing was learned about them")
    )


def _first(reader: SourceReader[State], fold: Fold[State], said: Waiting) -> FoundPods:
    revoked = [error for error in reader.broken.values() if isinstance(error, Revoked)]
    if len(revoked) < len(reader.broken):
        raise next(error for error in reader.broken.values() if error not in revoked)
    if reasons := {*reader.troubles.values(), *map(str, revoked)}:
        return replace(said, reason="; ".join(sorted(reasons)), running=(), until=math.inf)
    return fold(reader.known, said) if reader.all_known else said


def _keep(reader: SourceReader[State], fold: Fold[State], said: FoundPods) -> Rosters:
    """Yield each change after the first roster."""
    while reader.read() and not reader.ended:
        found = _next(reader, fold, said)
        if found != said:
            yield found
        said = found


def _next(reader: SourceReader[State], fold: Fold[State], said: FoundPods) -> FoundPods:
    """Return what is known; trouble leaves it as it was."""
    try:
        found = fold(reader.known, said)
    except LauncherError as error:
        return Waiting(reason=str(error), key=said.key, met=said.met)
    # A roster that was complete stays so. One that is not may stay so without end, and must say why.
    if reader.broken and isinstance(found, Waiting):
        why = {str(error) or type(error).__name__ for error in reader.broken.values()}
        return replace(found, reason="; ".join(sorted(why)))
    return found
