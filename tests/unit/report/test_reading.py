"""What is read of a file that anybody may have written to."""

from __future__ import annotations

import json

import pytest

from launcher.report.events import Phased, Progress, Seat, Verdict
from launcher.report.reading import LONGEST_EVENT_LINE, read_events
from launcher.report.story import read_story
from tests.unit.report.test_gang import lines, phase, told

STARTED = told(0, "run_started", key="k", job="j", resume=4, moved_to="run-1")
TRAINER = {"role": "trainer", "rank": 0}


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        (b"", (0, 0, 0)),
        (b"nothing of the kind", (1, 1, 0)),
        (b"[1]", (1, 1, 0)),
        (b'{"at": "2026-11-18T10:00:00Z"}', (1, 1, 0)),
        (b'{"at": "2026-11-18T10:00:00Z", "event": "coffee"}', (1, 0, 1)),
        (b'{"event": "verdict", "code": 0}', (1, 1, 0)),
        (b'{"at": "soon", "event": "verdict", "code": 0}', (1, 1, 0)),
        (b'{"at": "2026-11-18T10:00:00Z", "event": "verdict", "code": -1}', (1, 1, 0)),
        (b'{"at": "0001-01-01T00:00:00+23:59", "event": "verdict", "code": true}', (1, 1, 0)),
        (b"[" * 100_000, (1, 1, 0)),
        (b'"' + b"x" * LONGEST_EVENT_LINE + b'"', (1, 1, 0)),
        (lines([phase(1, 1, 0, "asleep")])[0], (1, 0, 1)),
        (lines([told(1, "lost", role="cook", rank=1)])[0], (1, 1, 0)),
        (lines([told(1, "progress", role="trainer", rank=10**9)])[0], (1, 1, 0)),
        (lines([told(1, "phase", phase=[])])[0], (1, 1, 0)),
        (lines([told(1, "phase", role="node")])[0], (1, 1, 0)),
        (lines([told(1, "generation_made", generation=1, members=[7])])[0], (1, 1, 0)),
    ],
)
def test_a_line_that_is_no_event_is_counted_and_left_out(line: bytes, counts: tuple[int, int, int]) -> None:
    reading = read_events([line])
    assert (reading.lines, reading.unreadable, reading.unknown) == counts
    assert reading.events == ()
    assert read_story(reading) is None


def test_a_line_told_twice_counts_once() -> None:
    reading = read_events(lines([STARTED, STARTED]))
    assert (len(reading.events), reading.repeated) == (1, 1)


def test_a_line_glued_to_a_torn_one_is_still_read() -> None:
    torn, whole = lines([STARTED, told(1, "verdict", code=0, reason="done")])
    reading = read_events([torn[:20] + whole])
    assert reading.unreadable == 1
    assert [type(event) for event in reading.events] == [Verdict]


def test_times_without_a_zone_are_utc() -> None:
    both = [{"at": at, "event": "verdict", "code": 0} for at in ("2026-11-18T10:00:00", "2026-11-18T12:00:00+02:00")]
    first, second = read_events(lines(both)).events
    assert first.at == second.at


def test_of_metrics_only_finite_numbers_are_drawn_and_the_others_counted() -> None:
    metrics = {"a": 1, "b": float("nan"), "c": True, "d": "1", "e": 10**400, "f": 1e305, "g": "NaN"}
    told_of = told(1, "progress", generation=1, metrics=metrics, **TRAINER, **{"pass": 1.0, "step": -1.5})
    assert read_events(lines([told_of])).events == (), "a number beyond all measure is no number"
    del metrics["e"]
    (event,) = read_events(lines([told_of])).events
    assert isinstance(event, Progress)
    assert (event.metrics, event.strange, event.pass_, event.step) == ({"a": 1.0}, ("b", "f", "g"), 1, None)
    (event,) = read_events(lines([told_of | {"metrics": 7}])).events
    assert isinstance(event, Progress)
    assert event.metrics == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a\tb\n", "a b"), ("x\u202ey\ud800\x1b[1m", "x?y??[1m"), (7, ""), ("x" * 500, "x" * 397 + "...")],
)
def test_text_is_short_and_has_nothing_unseen_in_it(text: object, expected: str) -> None:
    (event,) = read_events(lines([told(1, "verdict", code=0, reason=text)])).events
    assert isinstance(event, Verdict)
    assert event.reason == expected


def test_phases_and_seats_are_facts() -> None:
    (event,) = read_events(lines([phase(1, 2, 3, "serving")])).events
    assert event == Phased(at=event.at, generation=2, role="node", rank=3, address="10.0.0.3", phase="serving")
    assert str(Seat(role="trainer", rank=12)) == "trainer 12"
    assert json.loads(lines([phase(1, 2, 3, "serving")])[0])["rank"] == 3
