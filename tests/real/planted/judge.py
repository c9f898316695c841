"""Whether what a user is told of a fault is the truth, and how soon. No I/O here.

Told is what an `alarm` says in the gang's story, what the failure and the verdict say with the end of the log below,
what the launchers say, and where the programs stood. The right rank is the one that the fault was planted in, of a
deadlock one of the two or both, and nobody else; the right line is that at which this rank's program noted its fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from launcher.contract import Alarmed

SOON = 30.0  # seconds from a time-out within which it is to be told
NAMED = re.compile(r"\b(trainer|pserver)s? (\d+(?:(?:, | and )\d+)*)\b")
TOGETHER = 1.0  # an alarm that ends the generation is told with its end
ALARMS = {value for name, value in vars(Alarmed).items() if name.isupper()}
STORY = ("alarm", "failure", "lost", "verdict", "generation_ended")


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What a program noted of its own fault: when, who it is, and the line, where there is one to be seen."""

    at: float
    role: str
    rank: int
    line: str

    @property
    def name(self) -> str:
        """The program's, as a user reads it."""
        return f"{self.role} {self.rank}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One thing that a user is told: when, of what kind, about whom ("trainer 1"), in what words."""

    at: float
    kind: str
    who: frozenset[str]
    reason: str
    below: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What is right of it, how many seconds after the time-out it was told (none: not at all), and the words."""

    rank: bool
    line: bool | None
    seconds: float | None
    said: str
    kind: str = ""

    @property
    def right(self) -> bool:
        """Whether it is what it has to be."""
        return self.rank and self.line is not False and self.seconds is not None and self.seconds <= SOON


NOTHING = Judged(rank=False, line=False, seconds=None, said="")


def told(story: Iterable[Mapping[str, Any]]) -> tuple[Told, ...]:
    """Return what the gang's story says of its troubles, and a launcher of its own, as it came."""
    found = (_told(event) for event in story if event["event"] in STORY and event.get("code") != 0)
    return tuple(sorted(found, key=lambda each: each.at))


def judged(truths: Sequence[Truth], said: Sequence[Told], looks: Mapping[str, str], after: float) -> Judged:
    """Return what of the first word after the fault is right; the time-out is so many seconds after the fault."""
    began = min(truth.at for truth in truths)
    heard = [each for each in said if each.at >= began]
    if not heard:
        return NOTHING
    at_once = [each for each in heard if each.at <= heard[0].at + TOGETHER]
    first = next((each for each in at_once if each.kind in ALARMS), heard[0])
    right = [truth for truth in truths if truth.name in first.who]
    lines = {truth.line for truth in right or truths if truth.line}
    known = "\n".join((first.reason, first.below, *looks.values()))
    return Judged(
        rank=bool(right) and len(right) == len(first.who),
        line=all(_is_told(line, known) for line in lines) if lines else None,
        seconds=first.at - began - after,
        said=first.reason,
        kind=first.kind,
    )


def _is_told(line: str, text: str) -> bool:
    """Return whether a place is told, as ours or as Python's own: `lines.py:17`, `lines.py", line 17`."""
    name, _, number = line.partition(":")
    return bool(re.search(rf'\b{re.escape(name)}(:|", line ){number}\b', text))


def _told(event: Mapping[str, Any]) -> Told:
    reason = str(event.get("reason", ""))
    return Told(
        at=datetime.fromisoformat(event.get("at") or event["timestamp"]).timestamp(),
        kind=str(event.get("kind", event["event"])),
        who=_named(reason) or frozenset([f"{event.get('role', 'trainer')} {event.get('rank')}"]),
        reason=reason,
        below=str(event.get("tail", "")),
    )


def _named(reason: str) -> frozenset[str]:
    """Return the programs that a sentence names first: those it is about."""
    found = NAMED.search(reason)
    return frozenset(f"{found[1]} {rank}" for rank in re.findall(r"\d+", found[2])) if found else frozenset()
