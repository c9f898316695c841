"""An event file stays small however long a training lasts: progress is noted the more seldom the older it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from launcher.pod.gang.protocol.messages import Marks, Status, Who
from launcher.pod.gang.store.event_file import event_line
from launcher.pod.gang.store.progress_events import CLOSEST, LINES_OF_ALL, ProgressEvents, interval
from launcher.pod.settings.nouns import Role

HOUR, DAY = 3600.0, 86400.0
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

Facts = dict[str, float | str]


class Run:
    """A gang of trainers in one generation, its leader and the file that it writes."""

    def __init__(self, trainers: int, *, age: float = 0.0) -> None:
        self.lines: list[tuple[float, int, object, object]] = []  # when, which trainer, and its pass and step
        self.bytes = 0
        self.now = self.began = age
        self._events = ProgressEvents(self._put, lambda: self.now)
        self._trainers = [
            Status(who=Who(role=Role.NODE, address=f"10.0.0.{rank}", uid="", boot=str(rank)), rank=rank, ready=1)
            for rank in range(trainers)
        ]

    def train(self, seconds: float, told: Callable[[int, float], Facts], *, looks: float = 1.0) -> None:
        """Have each trainer tell this, by its rank and the seconds so far, as often as the leader looks."""
        until = self.now + seconds
        while self.now < until:
            self.look({rank: told(rank, self.now - self.began) for rank in range(len(self._trainers))})
            self.now += looks

    def look(self, told: dict[int, Facts], *, training: bool = True, generation: int = 1) -> None:
        statuses = [
            replace(each, ready=generation, marks=Marks(progress=told.get(rank, {})))
            for rank, each in enumerate(self._trainers)
        ]
        self._events.look(statuses, self.now, training=training)

    def of(self, rank: int) -> list[float]:
        return [at for at, its, *_ in self.lines if its == rank]

    def passes(self, rank: int) -> list[object]:
        return [number for _, its, number, _ in self.lines if its == rank]

    def _put(self, event: str, **facts: object) -> None:
        self.bytes += len(event_line(NOON, event, facts))
        rank = facts["rank"]
        assert isinstance(rank, int)
        self.lines.append((self.now, rank, facts["pass"], facts["step"]))


def steps(rank: int, seconds: float) -> Facts:
    return {"pass": 0, "step": int(seconds), "loss": 0.123456789 + rank, "examples_per_second": 1234.5678}


def in_passes(lasting: float) -> Callable[[int, float], Facts]:
    return lambda rank, seconds: {**steps(rank, seconds), "pass": int(max(0.0, seconds - rank) // lasting)}


@pytest.mark.parametrize(
    ("trainers", "age", "seconds"),
    [(1, 0.0, 5.0), (1, DAY, 5.0), (200, 0.0, 5.0), (200, 500.0, 5.0), (200, HOUR, 36.0), (200, DAY, 864.0)],
)
def test_a_trainer_has_a_line_in_five_seconds_and_the_more_seldom_the_older_the_file_is(
    trainers: int, age: float, seconds: float
) -> None:
    assert interval(trainers, age) == seconds


def test_the_second_day_takes_a_small_part_of_the_first() -> None:
    run = Run(20)
    run.train(DAY, steps, looks=60.0)
    first, before = run.bytes, len(run.lines)
    run.train(DAY, steps, looks=60.0)
    assert before <= LINES_OF_ALL + LINES_OF_ALL * 2.85  # every five seconds at first, then the longer the fewer
    assert len(run.lines) - before <= LINES_OF_ALL * 0.7
    assert run.bytes - first < first / 2


def test_each_trainer_has_its_share_and_they_take_turns() -> None:
    run, every = Run(20, age=DAY), interval(20, DAY)
    run.train(every, steps)
    run.lines.clear()
    run.train(every, steps)
    assert max(Counter(rank for _, rank, *_ in run.lines).values()) <= 2
    gaps = [after - before for before, after in pairwise(sorted(at for at, *_ in run.lines))]
    assert max(gaps) < 2.5 * every / 20


def test_the_first_trainer_that_comes_to_a_pass_is_noted_at_once_and_the_others_once_in_between() -> None:
    run = Run(50, age=DAY)
    run.train(1, steps)
    run.lines.clear()
    run.now += interval(50, DAY) / 10 + 1  # none has its turn yet
    run.look({rank: {"pass": rank == 7, "step": 9} for rank in range(50)})
    assert run.passes(7) == [1]
    run.lines.clear()
    run.look({rank: {"pass": 1, "step": 10} for rank in range(50)})
    sooner = {rank for rank in range(50) if run.passes(rank) == [1]}
    assert len(sooner) > 40
    run.lines.clear()
    run.now += interval(50, DAY) / 10 + 1
    run.look({rank: {"pass": 2, "step": 11} for rank in range(50)})
    assert run.lines[0][1:3] == (0, 2)  # the first of all
    assert len(sooner.intersection(rank for _, rank, *_ in run.lines)) < 10  # whose turn it is


@pytest.mark.parametrize("lasting", [0.5, 60.0])
def test_short_passes_double_the_lines_at_most(lasting: float) -> None:
    plain, run = Run(10, age=5 * HOUR), Run(10, age=5 * HOUR)
    plain.train(900, steps)
    run.train(900, in_passes(lasting))
    firsts = LINES_OF_ALL * 900 / (5 * HOUR)  # of each pass a line at most
    assert len(plain.lines) <= len(run.lines) < 2 * len(plain.lines) + firsts


def test_a_restart_notes_its_first_passes_again() -> None:
    run = Run(2)
    for number in range(5):
        run.now += 1
        run.look({0: {"pass": number}})
    run.now += 1
    run.look({0: {"pass": 2}}, generation=2)
    assert run.passes(0) == [0, 1, 2, 3, 4, 2]


def test_what_came_last_is_noted_when_training_ends_however_old_the_file_is() -> None:
    run = Run(3, age=10 * DAY)
    run.train(2, steps)
    run.lines.clear()
    run.look({rank: {"pass": 0, "step": 99} for rank in range(3)}, training=False)
    assert [step for *_, step in run.lines] == [99, 99, 99]
    assert interval(3, 10 * DAY) > CLOSEST
