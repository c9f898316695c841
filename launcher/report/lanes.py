"""The timeline of each rank: who had which seat, bars for its phases, gaps for its restarts, marks for its ends.

No I/O here.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from launcher import contract
from launcher.report.events import AlarmNoted, Event, Failed, Made, MemberLost, Phased, Progress, Seat

_ENDS = frozenset({contract.DONE, contract.FAILED, contract.STOPPED})
BROKEN_BY_FAILURE = frozenset({contract.SERVING, contract.TRAINING, contract.TRAINED})
GAP, ALARM = "gap", "alarm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A stretch of time in one phase, or the gap before the next start."""

    kind: str
    begin: float
    end: float
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A moment: done, failed, stopped, lost or an alarm, and why where it is known."""

    kind: str
    at: float
    generation: int
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One row."""

    seat: Seat
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]


class Seating:
    """The seat of each address; every generation assigns ranks again."""

    def __init__(self, events: Iterable[Event]) -> None:
        """Remember each generation's members."""
        self.all: set[Seat] = set()
        self._dealt: dict[tuple[int, str], Seat] = {}
        self._latest: dict[str, Seat] = {}
        for made in events:
            if isinstance(made, Made):
                for seat, address in made.members:
                    self.all.add(seat)
                    self._dealt[made.generation, address] = self._latest[address] = seat

    def at(self, address: str, generation: int) -> Seat | None:
        """Return who was there in that generation, else who was there last."""
        return (self._dealt.get((generation, address)) or self._latest.get(address)) if address else None


def lanes_of(events: Sequence[Event], ended: float, *, judged: bool) -> tuple[Lane, ...]:
    """Return a row for each seat that any event names, in the order of roles and ranks."""
    seating = Seating(events)
    phases: defaultdict[Seat, list[Phased]] = defaultdict(list)
    marks: defaultdict[Seat, list[Mark]] = defaultdict(list)
    breaks: defaultdict[int, list[float]] = defaultdict(list)
    for each in events:
        if isinstance(each, Phased):
            seat = Seat(role=each.role, rank=each.rank) if each.rank is not None else None
            if seat := seat or seating.at(each.address, each.generation):
                phases[seat].append(each)
        elif isinstance(each, Failed | MemberLost):
            breaks[each.generation].append(each.at)
        if isinstance(each, MemberLost) and (seat := each.seat or seating.at(each.address, each.generation)):
            marks[seat].append(Mark(kind="lost", at=each.at, generation=each.generation, reason=each.reason))
    for seat, alarm in _alarms(events, seating.all | set(phases)):
        marks[seat].append(Mark(kind=ALARM, at=alarm.at, generation=alarm.generation, reason=alarm.reason))
    starts = [each.at for each in events if isinstance(each, Made)]
    ways = _Ways(breaks=breaks, starts=starts, ended=ended, judged=judged)
    order = sorted(seating.all | set(phases) | set(marks))  # roles happen to stand in the order of their names
    return tuple(_lane(seat, phases[seat], marks[seat], ways) for seat in order)


def _alarms(events: Iterable[Event], seats: Container[Seat]) -> Iterable[tuple[Seat, AlarmNoted]]:
    """Yield each alarm of one trainer with its row: that of its pod, which may have several trainers."""
    nodes: dict[int, int] = {}
    for each in events:
        if isinstance(each, Progress):
            nodes[each.seat.rank] = each.node
        elif isinstance(each, AlarmNoted) and each.rank is not None:
            rank = nodes.get(each.rank, each.rank)
            rows = (Seat(role=role, rank=rank) for role in (contract.NODE, contract.TRAINER))
            yield from ((seat, each) for seat in rows if seat in seats)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ways:
    """When each generation broke, when any began, and when all ended."""

    breaks: Mapping[int, Sequence[float]]
    starts: Sequence[float]
    ended: float
    judged: bool

    def broken(self, phased: Phased, end: float) -> float | None:
        """Return when the phase's own generation broke, if before the phase's end."""
        breaks = self.breaks.get(phased.generation, ())
        place = bisect.bisect_right(breaks, phased.at)
        return breaks[place] if place < len(breaks) and breaks[place] < end else None

    def again(self, after: float) -> bool:
        """Return whether there was another start, or may still be one."""
        return not self.judged or bisect.bisect_right(self.starts, after) < len(self.starts)


def _lane(seat: Seat, phases: Sequence[Phased], lost: Iterable[Mark], ways: _Ways) -> Lane:
    bars: list[Bar] = []
    marks = list(lost)
    for place, each in enumerate(phases):
        last = place + 1 == len(phases)
        end = max(each.at, ways.ended) if last else phases[place + 1].at
        if each.phase in _ENDS:
            marks.append(Mark(kind=each.phase, at=each.at, generation=each.generation))
            cut: float | None = each.at
        else:
            cut = ways.broken(each, end) if each.phase in BROKEN_BY_FAILURE else None
            stop = end if cut is None else cut
            bars.append(Bar(kind=each.phase, begin=each.at, end=stop, generation=each.generation))
        follows = not last and phases[place + 1].phase not in _ENDS
        if cut is not None and cut < end and (follows or (ways.again(cut) and each.phase != contract.DONE)):
            bars.append(Bar(kind=GAP, begin=cut, end=end, generation=each.generation))
    return Lane(seat=seat, bars=tuple(bars), marks=tuple(sorted(marks, key=lambda mark: mark.at)))
