"""The page that a leader serves: what stands on it, and what never does."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from launcher.pod.gang.protocol.messages import (
    AlarmTold,
    Failure,
    Generation,
    LeaderMessage,
    Marks,
    Pace,
    Phase,
    Stage,
    Status,
    Trainer,
    Trouble,
    Who,
)
from launcher.pod.gang.protocol.state import Heard
from launcher.pod.gang.status import live_page, pages
from launcher.pod.gang.store import recent_events
from launcher.pod.gang.store.recent_events import RecentEvents
from launcher.pod.outcome import Outcome
from launcher.pod.settings.nouns import Role

AT = datetime(2026, 11, 18, 10, 0, 0, tzinfo=UTC)
EVIL = "</title><script>alert(1)</script>\x1b[2J"


def status(rank: int, *, steps: int = 0, busy: float = 1.0, **more: Any) -> Status:  # noqa: ANN401  # its fields
    who = Who(role=Role.NODE, address=f"10.0.0.{rank}", uid="u", boot=f"b{rank}")
    pace = Pace(steps=steps, busy=busy) if steps else None
    marks = Marks(progress={"pass": 3, "step": 7 + rank}, pace=pace)
    given = {"rank": rank, "phase": Phase.TRAINING, "node": f"node-{rank}", "marks": marks, **more}
    return Status(who=who, **given)


def generation(*statuses: Status, number: int = 2, cause: str = "trainer 1 exited with 7") -> Generation:
    return Generation(
        number=number, members=tuple(each.who for each in statuses), digest="d", restarts=1, cause=cause
    )


def shown(word: LeaderMessage, *others: Status, story: str = "", **more: Any) -> str:  # noqa: ANN401
    own = status(0, word=word, **more)
    heard = {each.who.address: Heard(status=each, sent=90.0) for each in others}
    return live_page.front_page({"job": "my-job"}, word, pages.gang_lines(own, heard, 92.5, {}), story, AT)


def cells(page: str) -> list[list[str]]:
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    return [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in body.split("</tr>")[:-1]]


def test_the_slowest_rank_stands_first_with_its_node_its_pace_and_when_it_was_heard() -> None:
    word = LeaderMessage(stage=Stage.TRAINING, generation=generation(status(0), status(1)))
    page = shown(word, status(1, steps=10, busy=4.0), steps=10, busy=1.0)
    assert cells(page) == [
        ["trainer 1", "node-1", "training", "3", "8", "2.5", "4.00", "2.5 s ago"],
        ["trainer 0", "node-0", "training", "3", "7", "10", "1.00", "itself"],
    ]
    assert "<em>No verdict yet:</em> training, generation 2" in page
    assert "The one before ended: trainer 1 exited with 7." in page
    assert '<meta http-equiv="refresh" content="5">' in page


def test_the_leaders_finding_counts_and_a_pod_with_several_trainers_has_a_row_for_each() -> None:
    several = (Trainer(), Trainer(marks=Marks(progress={"step": 1.5}, pace=Pace(steps=1, busy=0.5, phase="data"))))
    own = status(1, several=several, word=LeaderMessage())
    found = live_page.front_page({}, LeaderMessage(), pages.gang_lines(own, {}, 0.0, {3: 1.75}), "", AT)
    assert cells(found) == [
        ["trainer 3", "node-1", "training (data)", "", "1.5", "2", "1.75", "itself"],
        ["trainer 2", "node-1", "training", "", "", "", "", "itself"],
    ]


def test_who_was_never_heard_stands_before_all() -> None:
    own = status(0, word=LeaderMessage())
    lines = pages.gang_lines(own, {"10.0.0.9": Heard()}, 0.0, {})
    assert cells(live_page.front_page({}, LeaderMessage(), lines, "", AT))[0] == [
        "10.0.0.9", "", "not heard", "", "", "", "", "never",
    ]  # fmt: skip


def test_the_goodput_is_that_of_all_members_together() -> None:
    page = shown(LeaderMessage(), status(1, seconds={"lost": 10.0}), seconds={"training": 5.0, "kept": 25.0})
    assert "<dt>Goodput</dt><dd>75.0%</dd>" in page


def test_trouble_alarms_and_whom_it_waits_for_are_told() -> None:
    cause = Failure(code=7, reason="trainer 0 exited with 7", generation=2, tail="a secret")
    alarm = AlarmTold(kind=Trouble.SLOW, rank=1, node="node-1", reason="trainer 1 is slow", tail="a secret")
    page = shown(LeaderMessage(stage=Stage.GATHERING, cause=cause, waiting="node 1 is staging", found=(alarm,)))
    assert "Waits for: node 1 is staging." in page
    assert "Trouble: trainer 0 exited with 7." in page
    assert "Alarm: trainer 1 is slow." in page
    assert "a secret" not in page


@pytest.mark.parametrize(
    ("code", "told"),
    [(0, "Success</em> for all: every trainer is done."), (7, "Failed</em> with code 7: every trainer is done.")],
)
def test_a_verdict_is_told(code: int, told: str) -> None:
    assert told in shown(LeaderMessage(stage=Stage.OVER, verdict=Outcome(code=code, reason="every trainer is done")))


def test_of_many_ranks_the_slowest_are_shown_and_the_others_counted() -> None:
    page = shown(LeaderMessage(), *(status(rank, steps=10, busy=rank) for rank in range(1, 60)))
    assert [row[0] for row in cells(page)] == [f"trainer {rank}" for rank in range(59, 59 - live_page.SHOWN, -1)]
    assert f"{60 - live_page.SHOWN} more ranks, none slower: `paddlectl top my-job` shows them." in page


def test_nothing_that_anybody_says_becomes_markup_or_loads_anything() -> None:
    word = LeaderMessage(
        stage=Stage.GATHERING, waiting=EVIL, generation=generation(status(0), cause=EVIL),
        found=(AlarmTold(kind=Trouble.SLOW, rank=0, node=EVIL, reason=EVIL),),
    )  # fmt: skip
    events = RecentEvents(clock=lambda: AT)
    events.put("run_started", key=EVIL, job=EVIL, command=EVIL)
    events.put("generation_made", generation=1, members=[], cause=EVIL)
    events.put("progress", generation=1, role="trainer", rank=0, metrics={EVIL: 1.0})
    page = shown(
        word, status(1, node=EVIL, marks=Marks(progress={"pass": EVIL}, pace=Pace(steps=1, busy=1.0, phase=EVIL))),
        story=live_page.story_part(events.lines(), AT.timestamp()),
    )  # fmt: skip
    assert "<script" not in page
    assert "\x1b" not in page
    assert not re.search(r"(?:src|href|url)\s*[=(]", page)


def clocked(events: RecentEvents, seconds: float, event: str, **facts: object) -> None:
    events._clock = lambda: AT + timedelta(seconds=seconds)
    events.put(event, **facts)


def test_the_report_is_of_what_was_noted_without_the_end_of_a_log_and_goes_on_until_now() -> None:
    onward: list[tuple[str, dict[str, object]]] = []
    events = RecentEvents(lambda event, **facts: onward.append((event, facts)))
    clocked(events, 0, "run_started", key="k", job="j")
    members = [{"role": "node", "rank": 0, "address": "10.0.0.1"}]
    clocked(events, 1, "generation_made", generation=1, members=members)
    clocked(events, 2, "phase", generation=1, role="node", rank=0, phase="training")
    clocked(events, 3, "failure", generation=1, address="10.0.0.1", code=7, reason="it failed", tail="a secret")
    story = live_page.story_part(events.lines(), AT.timestamp() + 3600)
    assert "Timeline of 1 ranks over 1 h" in story
    assert "it failed" in story
    assert "a secret" not in story
    assert onward[-1][1]["tail"] == "a secret", "where it is written it stands"


def test_without_an_event_there_is_no_report() -> None:
    assert live_page.story_part((), 0.0) == ""


def test_of_progress_the_older_lines_become_sparser_for_each_trainer_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_events, "PROGRESS_LINES", 100)
    events = RecentEvents(clock=lambda: AT)
    for step in range(400):
        for rank in (0, 1):
            events.put("progress", role="trainer", rank=rank, step=step)
    kept = [(int(rank), int(step)) for line in events.lines()
            for rank, step in re.findall(rb'"rank": (\d+), "step": (\d+)', line)]  # fmt: skip
    assert len(kept) <= 100
    of_each = [[step for rank, step in kept if rank == each] for each in (0, 1)]
    assert of_each[0] == of_each[1] == sorted(of_each[0])
    assert (of_each[0][0], of_each[0][-1]) == (0, 399)
    first, *_, last = (after - before for before, after in zip(of_each[0], of_each[0][1:], strict=False))
    assert first > 4 * last


def test_memory_is_bounded_whatever_there_is_of_other_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_events, "OTHER_BYTES", 1000)
    events, numbers = RecentEvents(clock=lambda: AT), count()
    for number in numbers:
        events.put("generation_made", generation=number, cause="x" * 100)
        if number == 50:
            break
    found = events.lines()
    assert sum(map(len, found)) <= 1000
    assert b'"generation": 50' in found[-1]
