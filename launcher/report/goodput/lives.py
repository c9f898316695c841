"""The lives of a run's launchers, as ledgers tell of them, and what became of trainings that they left open.

No I/O here. A launcher that was told to stop, or was lost, went before it was known how much of its training is kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from launcher import contract
from launcher.contract import Spent
from launcher.report.events import (
    Event,
    Failed,
    LedgerNoted,
    Made,
    MemberLost,
    MemberSeconds,
    Phased,
    Progress,
    Verdict,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeEntry:
    """What was noted of a life at the end of a generation."""

    at: float
    generation: int
    member: MemberSeconds

    @property
    def lost(self) -> int:
        """The milliseconds of trainings that were lost."""
        return self.member.seconds.get(Spent.LOST, 0)

    @property
    def open(self) -> int:
        """The milliseconds of a training that was not decided."""
        return self.member.seconds.get(Spent.OPEN, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherLife:
    """One boot, from its process's start to the last that was heard of it."""

    entries: tuple[LifeEntry, ...]
    begun: float

    @property
    def last(self) -> LifeEntry:
        """What was noted last."""
        return self.entries[-1]

    @property
    def ended(self) -> float:
        """The last moment that it has counted."""
        return self.begun + self.last.member.counted

    @property
    def rank(self) -> int | None:
        """The last rank that it had."""
        return next((rank for each in reversed(self.entries) if (rank := each.member.rank) is not None), None)


def lives_of(events: Iterable[Event]) -> list[LauncherLife]:
    """Return the life of each boot, in the order of their beginnings."""
    entries: defaultdict[str, list[LifeEntry]] = defaultdict(list)
    for event in events:
        if not isinstance(event, LedgerNoted):
            continue
        for member in event.members:
            mine = entries[member.boot]
            if not mine or member.counted >= mine[-1].member.counted:  # another leader may know less of it
                mine.append(LifeEntry(at=event.at, generation=event.generation, member=member))
    found = [LauncherLife(entries=tuple(each), begun=_begun(each)) for each in entries.values()]
    return sorted(found, key=lambda life: life.begun)


def _begun(entries: Iterable[LifeEntry]) -> float:
    return min(each.at - each.member.ago - each.member.counted for each in entries)


class Deciding:
    """Decides the trainings that their launchers left open: they were told to stop, or lost, before it was known."""

    def __init__(self, events: Sequence[Event], verdict: Verdict | None, saved: Mapping[int, float]) -> None:
        self._made = {each.generation: each for each in reversed(events) if isinstance(each, Made)}
        self._broken: dict[int, float] = {}
        self._progress: defaultdict[int, list[Progress]] = defaultdict(list)
        for each in events:
            if isinstance(each, Failed | MemberLost) or (isinstance(each, Phased) and each.phase == contract.STOPPED):
                self._broken.setdefault(each.generation, each.at)
            elif isinstance(each, Progress):
                self._progress[each.generation].append(each)
        self._verdict, self._saved = verdict, dict(saved)
        self._complete: dict[tuple[int, int], float | None] = {}

    @property
    def failed(self) -> bool:
        """Whether the run has failed."""
        return self._verdict is not None and self._verdict.code != 0

    def before(self, generation: int) -> int:
        """Return the generation before one; that one itself where it is the first."""
        return max((number for number in self._made if number < generation), default=generation)

    def decided(self, life: LauncherLife) -> Mapping[str, int]:
        """Return the milliseconds of a life without those that are open, as far as that can be known."""
        found, lost = Counter(life.last.member.seconds), self.lost_of(life.last)
        if lost is not None:
            found.update({Spent.LOST: lost, Spent.KEPT: life.last.open - lost})
            del found[Spent.OPEN]
        return found

    def lost_of(self, entry: LifeEntry) -> int | None:
        """Return how much of what was open when it was noted was lost."""
        after = min((number for number in self._made if number > entry.generation), default=None)
        if after is None:
            return 0 if self._verdict and not self.failed else None if entry.open else 0
        resume, made = self._made[after].resume, self._made.get(entry.generation)
        if resume is None or (made and made.resume is not None and resume <= made.resume):
            return entry.open
        ended = min(entry.at - entry.member.ago, self._broken.get(entry.generation, entry.at))
        complete = self._when(resume, entry.generation)
        if complete is None:
            return None
        return min(entry.open, round(1000 * max(0.0, ended - complete)))

    def _when(self, number: int, generation: int) -> float | None:
        """Return when a pass was complete: by the volume, or by the first report of a later one, or of itself."""
        if number in self._saved:
            return self._saved[number]
        if (number, generation) not in self._complete:
            told = [each for each in self._progress[generation] if each.pass_ is not None and each.pass_ >= number]
            later = [each.at for each in told if each.pass_ != number]
            self._complete[number, generation] = min(later or [each.at for each in told], default=None)
        return self._complete[number, generation]


def lost_by(lives: Iterable[LauncherLife], decide: Deciding) -> Mapping[int, float]:
    """Return what the end of each generation lost, in seconds of all members together."""
    found: Counter[int] = Counter()
    for life in lives:
        for before, after in zip((None, *life.entries), life.entries, strict=False):
            lost = after.lost - (before.lost if before else 0)
            mine = lost if decide.failed and after is life.last and not after.open else 0
            if before and mine:  # two trainings were decided since
                of_before = decide.lost_of(before)
                mine -= lost if of_before is None else min(lost, of_before)
            found[after.generation] += mine
            found[decide.before(after.generation)] += lost - mine
        found[life.last.generation] += decide.lost_of(life.last) or 0
    return {generation: found[generation] / 1000 for generation in sorted(found)}
