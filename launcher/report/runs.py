"""Which events belong to which run, and in what order they happened.

No I/O here. One file may hold several runs, and several leaders wrote it, each by its own clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from launcher.report.events import Event, Made, Started, Verdict

SLIGHT = 5.0  # seconds: lines this far out of order came late; beyond it another clock was read


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run's events in their order, all by the first leader's clock, and by how much others were moved."""

    events: tuple[Event, ...]
    moved: tuple[float, ...] = ()


@dataclass(slots=True)
class _Open:
    """A run while its events are gathered, with what decides on the next `run_started`."""

    key: str | None = None  # None where its first line is not there
    events: list[Event] = field(default_factory=list)
    highest: int = 0
    judged: bool = False

    def take(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, Made):
            self.highest = max(self.highest, event.generation)
        self.judged = self.judged or isinstance(event, Verdict)


def runs_of(events: Sequence[Event]) -> tuple[Run, ...]:
    """Return the runs in the order in which they began; there is at least one event in each."""
    current = _Open()
    runs = [current]
    by_key: dict[str, _Open] = {}
    for place, event in enumerate(events):
        if isinstance(event, Started) and not _goes_on(current, event.key, events, place + 1):
            late = _late(current.events, event.at)
            current = by_key.get(event.key) or _Open(key=event.key)
            if event.key not in by_key:
                runs.append(current)
            if event.key:
                by_key[event.key] = current
            for each in late:
                current.take(each)
        current.take(event)
    return tuple(_run(run.events) for run in runs if run.events)


def _goes_on(current: _Open, key: str, events: Sequence[Event], following: int) -> bool:
    """Return whether a new leader took the same run over. Without a key only the generations tell."""
    if current.key != key:
        return False
    for place in range(following, len(events)):
        each = events[place]
        if key or isinstance(each, Started):
            break
        if isinstance(each, Made):
            return each.generation > current.highest > 0
    return bool(key) or not current.judged


def _late(current: list[Event], begun: float) -> list[Event]:
    """Remove and return events of the run that began then, but were written before its first line."""
    late: list[Event] = []
    while current and begun <= current[-1].at <= begun + SLIGHT and not isinstance(current[-1], Started | Verdict):
        late.append(current.pop())
    return late[::-1]


def _run(events: Sequence[Event]) -> Run:
    """Put each event where the first leader's clock would have it, as far as the order of lines tells.

    A clock that is behind shows; one that is ahead looks like time that passed.
    """
    moved: list[float] = []
    shift = 0.0
    now = events[0].at
    ordered: list[Event] = []
    for event in events:
        if event.at + shift < now - SLIGHT:
            shift = now - event.at
            moved.append(shift)
        ordered.append(replace(event, at=event.at + shift) if shift else event)
        now = max(now, event.at + shift)
    return Run(events=tuple(sorted(ordered, key=lambda each: each.at)), moved=tuple(moved))
