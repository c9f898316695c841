"""The form of each event: from what JSON says to a checked fact, or an exception.

No I/O here. What passes is bounded, and has no character in it that a reader would not see.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from launcher import contract
from launcher.report.events import (
    AlarmNoted,
    Event,
    Failed,
    LedgerNoted,
    Made,
    MemberLost,
    MemberSeconds,
    Phased,
    Progress,
    Seat,
    Started,
    Verdict,
)
from launcher.text import one_line, visible

RANKS = 100_000
_NUMBERS = 2**53
_LARGEST = 1e300  # beyond that, differences overflow
_LONGEST = 1e10  # seconds: some centuries
# What a launcher counts of its seconds; what a later one tells besides is unknown here.
STATES = frozenset(word for name, word in vars(contract.Spent).items() if name.isupper() and isinstance(word, str))
METRICS = 50
SENTENCE = 400  # characters
TAIL = 12  # lines
FACTS = ("command", "runtime", "namespace", "launcher")  # of `run_started`, as they are called
NOT_FINITE = ("NaN", "Infinity", "-Infinity")  # JSON has no numbers for them: they come as names


def time_of(value: object) -> float:
    """Return seconds since 1970 from a time as ISO 8601 writes it; without a zone it is UTC."""
    if not isinstance(value, str):
        raise ValueError("no time")
    at = datetime.fromisoformat(value)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _whole(value: object, high: int = _NUMBERS) -> int:
    if type(value) is not int or not 0 <= value <= high:
        raise ValueError("no such number")
    return value


def _maybe(value: object, high: int = _NUMBERS) -> int | None:
    if type(value) is float and value.is_integer():
        value = int(value)  # programs count in what they like
    return value if type(value) is int and 0 <= value <= high else None


def _seat(told: Mapping[str, Any]) -> Seat:
    return Seat(role=_role(told), rank=_whole(told.get("rank"), RANKS))


def _role(told: Mapping[str, Any]) -> str:
    if told.get("role") not in contract.ROLES:
        raise ValueError("no such role")
    return str(told["role"])


def _text(value: object, limit: int = SENTENCE) -> str:
    return one_line(value, limit) if isinstance(value, str) else ""


@lru_cache(maxsize=1000)  # the same few names, a hundred thousand times
def _name(text: str) -> str:
    return _text(text, 60)


def _started(told: Mapping[str, Any], at: float) -> Started:
    return Started(
        at=at,
        key=_text(told.get("key"), 100),
        job=_text(told.get("job"), 200),
        facts=tuple((name, text) for name in FACTS if (text := _text(told.get(name)))),
        resume=_maybe(told.get("resume")),
        moved_to=_text(told.get("moved_to")),
    )


def _made(told: Mapping[str, Any], at: float) -> Made:
    return Made(
        at=at,
        generation=_whole(told.get("generation")),
        members=tuple(_members(told.get("members") or [])),
        resume=_maybe(told.get("resume")),
        restarts=_maybe(told.get("restarts")) or 0,
        cause=_text(told.get("cause")),
    )


def _members(told: Iterable[Mapping[str, Any]]) -> Iterable[tuple[Seat, str]]:
    """Yield seats and addresses; who does not know its rank yet has its place among those of its role."""
    places: Counter[str] = Counter()
    for each in told:
        if not isinstance(each, dict):
            raise ValueError("no such member")
        role, rank = _role(each), _maybe(each.get("rank"), RANKS)
        yield Seat(role=role, rank=places[role] if rank is None else rank), _text(each.get("address"), 100)
        places[role] += 1


def _phased(told: Mapping[str, Any], at: float) -> Phased:
    return Phased(
        at=at,
        generation=_maybe(told.get("generation")) or 0,
        role=_role(told),
        rank=_maybe(told.get("rank"), RANKS),
        address=_text(told.get("address"), 100),
        phase=told["phase"],
    )


def _failed(told: Mapping[str, Any], at: float) -> Failed:
    return Failed(code=_whole(told.get("code")), **_trouble(told, at))


def _lost(told: Mapping[str, Any], at: float) -> MemberLost:
    rank = _maybe(told.get("rank"), RANKS)
    return MemberLost(seat=None if rank is None else Seat(role=_role(told), rank=rank), **_trouble(told, at))


def _trouble(told: Mapping[str, Any], at: float) -> dict[str, Any]:
    address, reason = _text(told.get("address"), 100), _text(told.get("reason"))
    where = {"generation": _maybe(told.get("generation")) or 0, "address": address}
    return {"at": at, **where, "reason": reason, "tail": _tail(told.get("tail"))}


def _tail(value: object) -> tuple[str, ...]:
    """Return the last lines of a text, each as far as it can be shown."""
    lines = value.rstrip().splitlines()[-TAIL:] if isinstance(value, str) else ()
    return tuple(visible(line, SENTENCE) for line in lines)


def progress(told: Mapping[str, Any], at: float) -> Progress:
    """Return a progress report; of its metrics the first fifty."""
    given = told.get("metrics")
    metrics, strange = {}, []
    for name, value in list(given.items())[:METRICS] if isinstance(given, dict) else ():
        number = type(value) in (int, float)  # a bool is an int as well
        if number and math.isfinite(value) and abs(value) < _LARGEST:
            metrics[_name(name)] = float(value)
        elif number or value in NOT_FINITE:
            strange.append(_name(name))
    seat, node = _seat(told), _maybe(told.get("node_rank"), RANKS)
    return Progress(
        at=at,
        generation=_maybe(told.get("generation")) or 0,
        seat=seat,
        node=seat.rank if node is None else node,
        pass_=_maybe(told.get("pass")),
        step=_maybe(told.get("step")),
        metrics=metrics,
        strange=tuple(strange),
    )


def _alarmed(told: Mapping[str, Any], at: float) -> AlarmNoted:
    return AlarmNoted(
        at=at,
        generation=_maybe(told.get("generation")) or 0,
        kind=_text(told.get("kind"), 40),
        rank=_maybe(told.get("rank"), RANKS),
        node=_text(told.get("node"), 200),
        reason=_text(told.get("reason")),
        tail=_tail(told.get("tail")),
    )


def _ledger(told: Mapping[str, Any], at: float) -> LedgerNoted:
    members = tuple(_member_seconds(each) for each in told.get("members") or ())
    return LedgerNoted(at=at, generation=_maybe(told.get("generation")) or 0, members=members)


def _member_seconds(told: Mapping[str, Any]) -> MemberSeconds:
    if not isinstance(told, dict):
        raise ValueError("no such member")
    seconds: Counter[str] = Counter()
    for state, value in told["seconds"].items():
        seconds[state if state in STATES else contract.Spent.UNKNOWN] += round(1000 * _seconds(value))
    return MemberSeconds(
        role=_role(told),
        rank=_maybe(told.get("rank"), RANKS),
        address=_text(told.get("address"), 100),
        boot=_text(told.get("boot"), 100),
        ago=_seconds(told.get("ago")),
        seconds=seconds,
    )


def _seconds(value: object) -> float:
    if type(value) not in (int, float) or not 0 <= value <= _LONGEST:  # type: ignore[operator]
        raise ValueError("no such time")
    return float(value)  # type: ignore[arg-type]


def _verdict(told: Mapping[str, Any], at: float) -> Verdict:
    return Verdict(at=at, code=_whole(told.get("code")), reason=_text(told.get("reason")))


BUILDERS: Mapping[str, Callable[[Mapping[str, Any], float], Event]] = {
    "run_started": _started,
    "generation_made": _made,
    "phase": _phased,
    "failure": _failed,
    "lost": _lost,
    "progress": progress,
    "alarm": _alarmed,
    "ledger": _ledger,
    "verdict": _verdict,
}
