"""The events of a gang, as its leaders wrote them: lines of bytes in, checked facts out.

No I/O here. The file comes from a shared volume: a line may be torn, glued to another one, told twice, or hostile.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from launcher import contract
from launcher.report.events import Event, Reading
from launcher.report.forms import BUILDERS, time_of

LONGEST_EVENT_LINE = 1 << 20  # bytes of a line: a generation of several thousand members
_BEGINNING = b'{"at"'


class _NotOurs(Exception):
    """A well-formed event of a kind that is not known here."""


def read_events(lines: Iterable[bytes]) -> Reading:
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
        glued = line.rfind(_BEGINNING)
        return (_told(line[glued:]) if glued > 0 else None), False
    return event, True


def _told(line: bytes) -> Event | None:
    try:
        told = json.loads(line) if len(line) <= LONGEST_EVENT_LINE else None
        if not isinstance(told, dict) or not isinstance(told.get("event"), str):
            return None
        if told["event"] not in BUILDERS or told.get("phase", contract.DONE) not in contract.PHASES:
            raise _NotOurs
        return BUILDERS[told["event"]](told, time_of(told.get("at")))
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None
