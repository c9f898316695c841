"""The gang's story: what happened in the newest run of a file, from its events.

No I/O here. No clock: a run without a verdict ends with its last event, unless somebody knows that it runs on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from launcher import contract
from launcher.report.events import (
    AlarmNoted,
    Event,
    Failed,
    Made,
    MemberLost,
    Phased,
    Progress,
    Reading,
    Seat,
    Started,
    Verdict,
)
from launcher.report.goodput.account import RunAccount, account_of
from launcher.report.lanes import Lane, Seating, lanes_of
from launcher.report.runs import Run, runs_of


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationFailure:
    """A failure or a loss; `who` where it is known."""

    at: float
    generation: int
    who: Seat | None
    lost: bool
    code: int | None
    reason: str
    tail: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A generation and how it ended; `over` is None as long as it runs."""

    made: Made
    ended: float
    over: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """An earlier run in the same file."""

    begun: float
    job: str
    key: str
    verdict: Verdict | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The newest run; from the output beside its events, what was logged of passes, and when each was saved."""

    job: str
    key: str
    facts: tuple[tuple[str, str], ...]
    resume: int | None
    moved_to: str
    begun: float
    ended: float
    verdict: Verdict | None
    chapters: tuple[Chapter, ...]
    troubles: tuple[GenerationFailure, ...]
    lanes: tuple[Lane, ...]
    progress: tuple[Progress, ...]
    moved: tuple[float, ...]
    past: tuple[Past, ...]
    reading: Reading
    events: tuple[Event, ...] = ()
    account: RunAccount | None = None
    alarms: tuple[AlarmNoted, ...] = ()
    logged: tuple[Progress, ...] = ()
    saved: Mapping[int, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The time in all."""
        return self.ended - self.begun

    @property
    def restarts(self) -> int:
        """How often the gang was started again."""
        return max((chapter.made.restarts for chapter in self.chapters), default=0)

    @property
    def reports(self) -> tuple[Progress, ...]:
        """What the ranks reported, or where none did, what their logs tell, which has no times."""
        return self.progress or self.logged


def read_story(reading: Reading, now: float = 0.0) -> Story | None:
    """Return the story of the newest run, or None without events; one that runs on `now` has come so far."""
    if not reading.events:
        return None
    *earlier, run = runs_of(reading.events)
    events = run.events
    started = next((each for each in events if isinstance(each, Started)), None)
    verdict = next((each for each in events if isinstance(each, Verdict)), None)
    ended = verdict.at if verdict else max(events[-1].at, now)
    troubles = _troubles(events)
    return Story(
        job=started.job if started else "",
        key=started.key if started else "",
        facts=started.facts if started else (),
        resume=started.resume if started else None,
        moved_to=started.moved_to if started else "",
        begun=events[0].at,
        ended=ended,
        verdict=verdict,
        chapters=_chapters(events, troubles, verdict, ended),
        troubles=troubles,
        lanes=lanes_of(events, ended, judged=verdict is not None),
        progress=tuple(each for each in events if isinstance(each, Progress)),
        moved=run.moved,
        events=events,
        account=account_of(events),
        alarms=tuple(each for each in events if isinstance(each, AlarmNoted)),
        past=tuple(_past(each) for each in earlier),
        reading=replace(reading, events=()),
    )


def with_output(story: Story, *, logged: Iterable[Progress], saved: Mapping[int, float]) -> Story:
    """Add what the output tells beside its events; a pass that was not saved during the run is another one's."""
    during = {number: at for number, at in saved.items() if story.begun <= at <= story.ended}
    placed = (replace(each, at=during.get(each.pass_ or 0, story.ended)) for each in logged)
    return replace(story, logged=tuple(placed), saved=during, account=account_of(story.events, during))


def _troubles(events: Sequence[Event]) -> tuple[GenerationFailure, ...]:
    """Return failures and losses once each; without an address, of the first that reported `failed` there."""
    seating = Seating(events)
    first: dict[int, Seat] = {}
    found: dict[tuple[object, ...], GenerationFailure] = {}
    for each in events:
        if isinstance(each, Phased) and each.phase == contract.FAILED and each.rank is not None:
            first.setdefault(each.generation, Seat(role=each.role, rank=each.rank))
    for each in events:
        if not isinstance(each, Failed | MemberLost):
            continue
        lost, number = isinstance(each, MemberLost), each.generation
        code, who = (None, each.seat) if isinstance(each, MemberLost) else (each.code, None)
        who = who or seating.at(each.address, number) or (None if lost else first.get(number))
        told = GenerationFailure(
            at=each.at, generation=number, who=who, lost=lost, code=code, reason=each.reason, tail=each.tail
        )
        # A new leader tells again what it heard.
        found.setdefault((told.generation, who, lost, code, told.reason), told)
    return tuple(found.values())


def _chapters(
    events: Iterable[Event], troubles: Sequence[GenerationFailure], verdict: Verdict | None, ended: float
) -> tuple[Chapter, ...]:
    """Return each generation once, the first event of its number."""
    by_number: dict[int, Made] = {}
    for each in events:
        if isinstance(each, Made):
            by_number.setdefault(each.generation, each)
    made = [by_number[number] for number in sorted(by_number)]
    worst: dict[int, GenerationFailure] = {}
    for told in troubles:
        worst.setdefault(told.generation, told)
    chapters = []
    for place, each in enumerate(made):
        following = made[place + 1] if place + 1 < len(made) else None
        over = following.cause or "ended, no reason given" if following else None
        if trouble := worst.get(each.generation):
            over = trouble.reason or ("lost" if trouble.lost else f"failed with {trouble.code}")
        elif verdict and not following:
            over = verdict.reason or f"ended with {verdict.code}"
        until = trouble.at if trouble else following.at if following else ended
        chapters.append(Chapter(made=each, ended=max(each.at, until), over=over))
    return tuple(chapters)


def _past(run: Run) -> Past:
    started = next((each for each in run.events if isinstance(each, Started)), None)
    verdict = next((each for each in run.events if isinstance(each, Verdict)), None)
    job, key = (started.job, started.key) if started else ("", "")
    return Past(begun=run.events[0].at, job=job, key=key, verdict=verdict)
