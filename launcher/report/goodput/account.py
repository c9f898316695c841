"""The account of a run: what became of the time of each of its places, from the first process there to the verdict.

No I/O here. What its launchers counted comes from the events `ledger`; what nobody counted is unknown, and with it
the sum is the time that has passed. A run of 0.1.0 has no account.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from launcher.contract import Spent
from launcher.report.events import Event, Made, Seat, Verdict
from launcher.report.goodput.lives import Deciding, LauncherLife, lives_of, lost_by

_SLACK = 1.5  # seconds: lives begin and end about where they are seen to
ORDER = (
    Spent.KEPT,
    Spent.OPEN,
    Spent.LOST,
    Spent.SAVING,
    Spent.BARRIER,
    Spent.STARTING,
    Spent.STAGING,
    Spent.WAITING,
    Spent.LEAVING,
    Spent.UNKNOWN,
)
_Span = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A time in which nobody counted for a place, and whose it was before."""

    seat: Seat | None
    begin: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAccount:
    """All seconds of all places by what they were, those that nobody counted, and what each generation's end lost.

    `away` are the seconds in which no launcher was there at all, as while a job is suspended: they count for nobody.
    """

    begun: float
    ended: float
    places: int
    seconds: Mapping[str, float]
    gaps: tuple[Gap, ...] = ()
    away: float = 0.0
    lost_by: Mapping[int, float] = field(default_factory=dict)

    @property
    def whole(self) -> float:
        """The sum of all."""
        return sum(self.seconds.values())

    @property
    def goodput(self) -> float:
        """The share that was kept."""
        return self.seconds.get(Spent.KEPT, 0.0) / self.whole if self.whole else 0.0


def account_of(events: Sequence[Event], saved: Mapping[int, float] | None = None) -> RunAccount | None:
    """Return a run's account, None where no ledger was noted; `saved` tells when passes were complete, if known."""
    lives = lives_of(events)
    if not lives:
        return None
    verdict = next((each for each in events if isinstance(each, Verdict)), None)
    end = verdict.at if verdict else max(each.last.at for each in lives)
    decide = Deciding(events, verdict, saved or {})
    away = _away(lives)
    places = [place for role in sorted({_role(life) for life in lives}) for place in _places(events, lives, role)]
    gaps = tuple(gap for place in places for gap in _gaps(place, end, away))
    milliseconds: Counter[str] = Counter()
    for life in lives:
        milliseconds.update(decide.decided(life))
    milliseconds[Spent.UNKNOWN] += sum(round(1000 * (gap.end - gap.begin)) for gap in gaps)
    return RunAccount(
        begun=min(life.begun for life in lives),
        ended=max(end, *(life.ended for life in lives)),
        places=len(places),
        seconds={state: milliseconds[state] / 1000 for state in ORDER if milliseconds[state]},
        gaps=gaps,
        away=sum(after - before for before, after in away),
        lost_by=lost_by(lives, decide),
    )


def sums_of(accounts: Iterable[RunAccount]) -> Mapping[str, float]:
    """Return the seconds of several accounts by what they were."""
    whole: Counter[str] = Counter()
    for each in accounts:
        whole.update(each.seconds)
    return {state: whole[state] for state in ORDER if whole[state]}


def _role(life: LauncherLife) -> str:
    return life.last.member.role


def _places(events: Iterable[Event], lives: Iterable[LauncherLife], role: str) -> list[list[LauncherLife]]:
    """Return the lives at each place of a role: one after the other, where a pod or its launcher was replaced."""
    made = (each for each in events if isinstance(each, Made))
    most = max((sum(seat.role == role for seat, _ in each.members) for each in made), default=0)
    places: list[list[LauncherLife]] = []
    for life in lives:
        if _role(life) != role:
            continue
        free = [place for place in places if place[-1].ended <= life.begun + _SLACK]
        like = [place for place in free if _is_like(place[-1], life)]
        if like or (free and len(places) >= most):
            max(like or free, key=lambda place: place[-1].ended).append(life)
        elif len(places) < most or not places:
            places.append([life])
        else:
            min(places, key=lambda place: place[-1].ended).append(life)
    return places


def _is_like(before: LauncherLife, after: LauncherLife) -> bool:
    same = before.last.member.address == after.last.member.address != ""
    return same or (before.rank is not None and before.rank == after.rank)


def _away(lives: Sequence[LauncherLife]) -> Sequence[_Span]:
    """Return when no launcher was there, between the first and the last."""
    found, until = list[_Span](), lives[0].ended
    for life in lives:
        if life.begun > until + _SLACK:
            found.append((until, life.begun))
        until = max(until, life.ended)
    return found


def _gaps(place: Sequence[LauncherLife], end: float, away: Sequence[_Span]) -> Iterable[Gap]:
    rank, until = place[-1].rank, place[0].ended
    seat = None if rank is None else Seat(role=_role(place[-1]), rank=rank)
    for begin, following in (*((life.begun, life.ended) for life in place[1:]), (end, end)):
        yield from (Gap(seat=seat, begin=from_, end=to) for from_, to in _without((until, begin), away))
        until = max(until, following)


def _without(span: _Span, others: Iterable[_Span]) -> Iterable[_Span]:
    """Yield what is left of a span; the others are in their order."""
    begin, end = span
    for from_, to in others:
        if from_ < end and to > begin:
            if from_ > begin:
                yield begin, from_
            begin = max(begin, to)
    if begin < end:
        yield begin, end
