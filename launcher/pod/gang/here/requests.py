"""What a program's line asks for. No I/O here.

`launcher.here` writes the lines and tells its user what is wrong with a call, so that any other line is a stranger's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

LINE = 128 * 1024
LONGEST_NAME = 128
MOST_FACTS = 64
LONGEST_TIMEOUT = 1_000_000.0  # seconds; a longer timeout is none

Answer = Mapping[str, object]
OK: Answer = {"ok": None}
DONE_LINE = b'{"ok": null}\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier:
    """Wait until every trainer has arrived at a name."""

    name: str
    timeout: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Give all trainers a value, as JSON."""

    key: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Get:
    """Wait for the value that one trainer, or any, shares."""

    key: str
    rank: int | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepping:
    """How far one process is by `here.step`: its whole steps, the seconds that it was busy with them, and its phase.

    `lasts` says that the phase is no passing one: what is told of a quick step is a moment of it.
    """

    process: int
    steps: int
    busy: float
    phase: str = ""
    lasts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A trainer's progress report; `stepping` where it calls `here.step` or `here.saving`."""

    facts: Mapping[str, float | str]
    stepping: Stepping | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskLeaving:
    """Say whether this generation ends soon, as planned: on every trainer at the same of its calls."""


Ask = Barrier | Share | Get | Report | AskLeaving


def understood(line: bytes) -> tuple[bytes, Ask] | None:
    """Return the token and what is asked for, or None for a line that no program of ours writes."""
    try:
        said = json.loads(line.decode())
        if not (isinstance(said, dict) and isinstance(token := said.get("token"), str)):
            return None
        ask = _ask(said)
    except (ValueError, RecursionError):  # nested too deep to be read, or to be written again
        return None
    return (token.encode(errors="replace"), ask) if ask else None


def written(answer: Answer) -> bytes:
    """Return the line of an answer."""
    return DONE_LINE if answer is OK else json.dumps(answer).encode() + b"\n"


def _ask(said: Mapping[str, object]) -> Ask | None:
    if said.get("ask") == "progress":  # five times a second, the others now and then
        return _progress(said.get("facts"), said.get("pace"))
    match said:
        case {"ask": "barrier", "name": str(name)} if _is_name(name):
            return Barrier(name=name, timeout=_seconds(said))
        case {"ask": "share", "key": str(key), "value": value} if _is_name(key):
            return Share(key=key, text=json.dumps(value))
        case {"ask": "get", "key": str(key), "rank": (int() | None) as rank} if _is_name(key):
            return Get(key=key, rank=rank, timeout=_seconds(said))
        case {"ask": "leave"}:
            return AskLeaving()
    return None


def _progress(facts: object, pace: object) -> Report | None:
    if not isinstance(facts, dict) or len(facts) > MOST_FACTS:
        return None
    good = {name: fact for name, fact in facts.items() if _is_name(name) and _is_fact(fact)}
    return Report(facts=good, stepping=_stepping(pace))


def _stepping(pace: object) -> Stepping | None:
    match pace:
        case {
            "process": int(process),
            "steps": int(steps),
            "busy": int() | float() as busy,
            "phase": str(phase),
            "lasts": bool(lasts),
        } if 0 <= steps < 2**53 and 0 <= busy < LONGEST_TIMEOUT * 1000 and (not phase or _is_name(phase)):
            return Stepping(process=process, steps=steps, busy=busy, phase=phase, lasts=lasts)
    return None


def _is_name(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and name.isprintable()


def _seconds(said: Mapping[str, object]) -> float | None:
    timeout = said.get("timeout")
    return timeout if isinstance(timeout, int | float) and 0 <= timeout < LONGEST_TIMEOUT else None


def _is_fact(value: object) -> bool:
    """Return whether it can be published: JSON has no nan, and a longer number fits no float."""
    match value:
        case float():
            return isfinite(value)
        case int():
            return abs(value) < 2**63
        case str():
            return len(value) <= LONGEST_NAME and value.isprintable()
    return False
