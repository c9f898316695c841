"""The passes of a run: when each was saved, what v1's logs tell of them, which were run again and what that cost.

No I/O here. A program of v1 reports nothing to its launcher: its log has a line for each pass, without a time; the
time is that of `pass-N` on the volume.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from launcher import contract
from launcher.report.events import Progress, Seat
from launcher.report.forms import progress
from launcher.report.lanes import Lane
from launcher.report.story import Chapter, Story

_HEADING = re.compile(rb"==== generation (\d{1,9}), .* ====")
_PASS = re.compile(rb"\bPass=(\d{1,9}) (.*\bAvgCost=.*)")
_PAIR = re.compile(r"([A-Za-z_]\w{0,59})=(\S+)")
_COUNTS = frozenset({"Batch", "samples"})
_LINE = 4000  # bytes: no longer line is one of a pass
_TRAINS = frozenset({contract.TRAINING, contract.TRAINED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A pass in a row: when it was saved, else when its rank first reported it."""

    number: int
    at: float
    generation: int
    saved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What the end of a generation cost until the next one trained.

    `again` are the seconds that each member trained after the pass that was gone on from, by their ledgers, or from
    the time of that pass on; None where that has no known time. `down` lasts until all of them train again.
    """

    generation: int
    down: float
    again: float | None
    passes: int


def logged(rank: int, lines: Iterable[bytes]) -> tuple[Progress, ...]:
    """Return a report without a time for each pass that a trainer's log tells of; of one told twice the later."""
    generation = 1
    found: dict[tuple[int, int], str] = {}
    for line in lines:
        if heading := _HEADING.match(line[:_LINE]):
            if int(heading[1]) <= generation:
                found.clear()  # an earlier run's, that did not finish
            generation = int(heading[1])
        elif told := _PASS.search(line[:_LINE]):
            found[generation, int(told[1])] = told[2].decode(errors="replace")
    return tuple(_report(rank, *place, text) for place, text in found.items())


def _report(rank: int, generation: int, number: int, text: str) -> Progress:
    seat = {"role": contract.TRAINER, "rank": rank}
    return progress({"generation": generation, **seat, "pass": number, "metrics": _metrics(text)}, 0.0)


def _metrics(text: str) -> Mapping[str, float]:
    found = {}
    for name, value in _PAIR.findall(text):
        try:
            found[name] = float(value)
        except ValueError:
            continue  # words
    return {name: value for name, value in found.items() if name not in _COUNTS}


def ticks_of(story: Story) -> Mapping[Seat, Sequence[Tick]]:
    """Return the passes of each row in which a trainer is, in their order."""
    first: dict[tuple[int, int, int], float] = {}
    for each in story.progress:
        if each.pass_ is not None:
            first.setdefault((each.node, each.generation, each.pass_), each.at)
    reports: dict[int, list[Tick]] = {}
    for (rank, generation, number), at in first.items():
        tick = Tick(number=number, at=at, generation=generation, saved=False)
        reports.setdefault(rank, []).append(tick)
    trainers = [lane for lane in story.lanes if lane.seat.role != contract.PSERVER]
    return {lane.seat: _ticks(lane, reports.get(lane.seat.rank, ()), story.saved) for lane in trainers}


def _ticks(lane: Lane, reports: Iterable[Tick], saved: Mapping[int, float]) -> Sequence[Tick]:
    found = {(each.generation, each.number): each for each in reports}
    for number, at in saved.items():
        training = (bar for bar in lane.bars if bar.kind in _TRAINS and bar.begin <= at <= bar.end)
        if bar := next(training, None):
            found[bar.generation, number] = Tick(number=number, at=at, generation=bar.generation, saved=True)
    return sorted(found.values(), key=lambda tick: tick.at)


def losses_of(story: Story) -> tuple[Loss, ...]:
    """Return what each generation but the last lost by its end."""
    begun: dict[int, tuple[float, float]] = {}  # when the first of each generation trained, and when all did
    for lane in story.lanes:
        firsts: dict[int, float] = {}
        for bar in lane.bars:
            if bar.kind == contract.TRAINING:
                firsts.setdefault(bar.generation, bar.begin)
        for generation, at in firsts.items():
            first, last = begun.get(generation, (at, at))
            begun[generation] = min(first, at), max(last, at)
    return tuple(_loss(story, begun, before, after) for before, after in pairwise(story.chapters))


def _loss(story: Story, begun: Mapping[int, tuple[float, float]], before: Chapter, after: Chapter) -> Loss:
    number, resume = before.made.generation, after.made.resume
    told = {each.pass_ for each in story.reports if each.generation == number and each.pass_ is not None}
    _, all_again = begun.get(after.made.generation, (after.ended, after.ended))
    counted = story.account.lost_by.get(number) if story.account else None
    first, _ = begun.get(number, (None, None))
    in_vain = _trained_in_vain(story, first, before, resume) if counted is None else None
    return Loss(
        generation=number,
        down=max(0.0, all_again - before.ended),
        again=counted / story.account.places if story.account and counted is not None else in_vain,
        passes=sum(each > (-1 if resume is None else resume) for each in told),
    )


def _trained_in_vain(story: Story, begun: float | None, before: Chapter, resume: int | None) -> float | None:
    if begun is None:
        return 0.0
    kept: float | None = begun
    if resume is not None and resume != before.made.resume:
        told = (
            each.at for each in story.progress if each.pass_ == resume and each.generation <= before.made.generation
        )
        kept = story.saved.get(resume) or max(told, default=None)
    return None if kept is None else max(0.0, before.ended - max(kept, begun))
