"""The events of a gang, as its leaders wrote them: lines of bytes in, checked facts out.

No I/O here. The file comes from a shared volume: a line may be torn, glued to another one, told twice, or hostile.
What passes here is bounded and has no character in it that a reader would not see.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from launcher.report.events import (
    Event,
    Failed,
    Lost,
    Made,
    Phased,
    Progress,
    Reading,
    Seat,
    Started,
    Verdict,
)
from launcher.report.visible import visible

LONGEST = 1 << 20  # bytes of a line: a generation of several thousand members
BEGINNING = b'{"at"'
RANKS = 100_000
NUMBERS = 2**53
LARGEST = 1e300  # beyond that, differences overflow
METRICS = 50
ROLES = ("node", "pserver", "trainer")
PHASES = frozenset({"joining", "staging", "serving", "training", "trained", "done", "failed", "stopped"})


class _NotOurs(Exception):
    """A well-formed event of a kind that is not known here."""


def read(lines: Iterable[bytes]) -> Reading:
    """Read each line, whatever is in it."""
    events = []
    seen: set[bytes] = set()
    count = unreadable = unknown = repeated = 0
    for line in filter(None, map(bytes.strip, lines)):
        count += 1
        if line in seen:
            repeated += 1
            continue
        seen.add(line)
        try:
            event, whole = _event(line)
        except _NotOurs:
            unknown += 1
            continue
        unreadable += not whole
        events += [event] if event else []
    return Reading(events=tuple(events), lines=count, unreadable=unreadable, unknown=unknown, repeated=repeated)


def _event(line: bytes) -> tuple[Event | None, bool]:
    """Return what a line tells, and whether the whole of it could be read."""
    event = _told(line)
    if event is None:
        # A leader that died within a line left no newline: the first line of the next one is glued to it.
        glued = line.rfind(BEGINNING)
        return (_told(line[glued:]) if glued > 0 else None), False
    return event, True


def _told(line: bytes) -> Event | None:
    try:
        told = json.loads(line) if len(line) <= LONGEST else None
        if not isinstance(told, dict) or not isinstance(told.get("event"), str):
            return None
        if told["event"] not in BUILDERS or told.get("phase", "done") not in PHASES:
            raise _NotOurs
        return BUILDERS[told["event"]](told, _time(told.get("at")))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None


def _time(value: object) -> float:
    if not isinstance(value, str):
        raise ValueError("no time")
    at = datetime.fromisoformat(value)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _whole(value: object, high: int = NUMBERS) -> int:
    if type(value) is not int or not 0 <= value <= high:
        raise ValueError("no such number")
    return value


def _maybe(value: object, high: int = NUMBERS) -> int | None:
    return value if type(value) is int and 0 <= value <= high else None


def _seat(told: Mapping[str, Any]) -> Seat:
    return Seat(role=_role(told), rank=_whole(told.get("rank"), RANKS))


def _role(told: Mapping[str, Any]) -> str:
    if told.get("role") not in ROLES:
        raise ValueError("no such role")
    return str(told["role"])


@lru_cache(maxsize=1000)  # the same few names, a hundred thousand times
def _name(text: str) -> str:
    return visible(text, 60)


def _started(told: Mapping[str, Any], at: float) -> Started:
    return Started(
        at=at,
        key=visible(told.get("key"), 100),
        job=visible(told.get("job"), 200),
        resume=_maybe(told.get("resume")),
        moved_to=visible(told.get("moved_to")),
    )


def _made(told: Mapping[str, Any], at: float) -> Made:
    members = told.get("members") or []
    if not all(isinstance(each, dict) for each in members):
        raise ValueError("no such member")
    return Made(
        at=at,
        generation=_whole(told.get("generation")),
        members=tuple((_seat(each), visible(each.get("address"), 100)) for each in members),
        resume=_maybe(told.get("resume")),
        restarts=_maybe(told.get("restarts")) or 0,
        cause=visible(told.get("cause")),
    )


def _phased(told: Mapping[str, Any], at: float) -> Phased:
    return Phased(
        at=at,
        generation=_maybe(told.get("generation")) or 0,
        role=_role(told),
        rank=_maybe(told.get("rank"), RANKS),
        address=visible(told.get("address"), 100),
        phase=told["phase"],
    )


def _failed(told: Mapping[str, Any], at: float) -> Failed:
    generation, code = _maybe(told.get("generation")) or 0, _whole(told.get("code"))
    return Failed(at=at, generation=generation, code=code, reason=visible(told.get("reason")))


def _lost(told: Mapping[str, Any], at: float) -> Lost:
    generation, reason = _maybe(told.get("generation")) or 0, visible(told.get("reason"))
    return Lost(at=at, generation=generation, seat=_seat(told), reason=reason)


def _progress(told: Mapping[str, Any], at: float) -> Progress:
    given = told.get("metrics")
    metrics, strange = {}, []
    for name, value in list(given.items())[:METRICS] if isinstance(given, dict) else ():
        number = type(value) in (int, float)  # a bool is an int as well
        if number and math.isfinite(value) and abs(value) < LARGEST:
            metrics[_name(name)] = float(value)
        elif number:
            strange.append(_name(name))
    return Progress(
        at=at,
        generation=_maybe(told.get("generation")) or 0,
        seat=_seat(told),
        pass_=_maybe(told.get("pass")),
        step=_maybe(told.get("step")),
        metrics=metrics,
        strange=tuple(strange),
    )


def _verdict(told: Mapping[str, Any], at: float) -> Verdict:
    return Verdict(at=at, code=_whole(told.get("code")), reason=visible(told.get("reason")))


BUILDERS: Mapping[str, Callable[[Mapping[str, Any], float], Event]] = {
    "run_started": _started,
    "generation_made": _made,
    "phase": _phased,
    "failure": _failed,
    "lost": _lost,
    "progress": _progress,
    "verdict": _verdict,
}
