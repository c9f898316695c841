"""What the page shows of where the time went, of what was found out while it trained, and of what a failure cost."""

from __future__ import annotations

import pytest

from launcher.contract import Spent
from launcher.report.events import Seat
from launcher.report.goodput.account import ORDER, Gap, RunAccount
from launcher.report.goodput.spending import GAPS, MEANINGS, brief_words, goodput_words, percent, time_section
from launcher.report.page import page
from launcher.report.passes import losses_of
from tests.unit.report.goodput.test_account import OVER, ledger, life, made
from tests.unit.report.test_gang import gang, phase, story_of, told
from tests.unit.report.test_page import Seen, seen_of

RUN = [
    told(0, "run_started", key="k", job="j"),
    made(10, 1),
    phase(10, 1, 0, "training"),
    phase(12, 1, 1, "training"),
    told(50, "failure", generation=1, address="10.0.0.1", code=7, reason="trainer 1 exited with 7"),
    ledger(52, 1, life(0, "a", starting=10, training=40, leaving=2), life(1, "b", starting=12, training=40)),
    made(52, 2, 0),
    phase(54, 2, 0, "training"),
    phase(57, 2, 1, "training"),
    OVER,
    ledger(
        100, 2, life(0, "a", starting=12, kept=66, lost=20, leaving=2), life(1, "b", starting=17, kept=73, lost=10)
    ),
]


def test_every_state_has_a_place_a_meaning_and_a_colour() -> None:
    states = {word for name, word in vars(Spent).items() if name.isupper() and isinstance(word, str)}
    assert set(ORDER) == set(MEANINGS) == states
    sheet = page(story_of(RUN), "x").partition("</style>")[0]
    for state in states:
        assert f".spent-{state}" in sheet


def test_the_page_has_a_bar_a_table_and_in_its_head_the_goodput() -> None:
    seen = seen_of(RUN)
    assert "Goodput69.5 % (2 min 19 s of 3 min 20 s of 2 launchers)" in seen.text
    assert "Where the time went" in seen.text
    for state, seconds, share in (("kept", "2 min 19 s", "69.5 %"), ("lost", "30.0 s", "15.0 %")):
        assert f"{state}{seconds}{share}{MEANINGS[state]}" in seen.text
        assert len(seen.of(f"spent-{state}")) == 2, "in the bar, and before its name"
    assert "Unknown:" not in seen.text


def test_a_failure_costs_what_the_ledgers_say_and_the_time_until_all_train_again() -> None:
    (loss,) = losses_of(story_of(RUN))
    assert (loss.again, loss.down) == (15.0, 7.0)
    assert "22.0 s and 0 passes (15.0 s trained in vain, 7 s until it trained again)" in seen_of(RUN).text


def test_a_run_without_ledgers_has_no_such_section() -> None:
    text = seen_of(gang(2)).text
    assert "Where the time went" not in text
    assert "Goodput" not in text


def account(**facts: object) -> RunAccount:
    given = {"begun": 0.0, "ended": 9.0, "places": 2, "seconds": {Spent.KEPT: 30.0, Spent.UNKNOWN: 10.0}, **facts}
    return RunAccount(**given)  # type: ignore[arg-type]


def test_what_is_unknown_is_told_by_its_place_and_time() -> None:
    gaps = (Gap(seat=Seat(role="node", rank=1), begin=60.0, end=70.0), Gap(seat=None, begin=5.0, end=5.5))
    seen = Seen(time_section(account(gaps=gaps, away=600.0)))
    assert "Unknown: 10.0 s of node 1 from 00:01:00.000 UTC on" in seen.text
    assert "a launcher from" not in seen.text, "a moment between two questions"
    assert "For 10 min no pod was there at all" in seen.text


def test_very_many_gaps_are_counted_only() -> None:
    gaps = tuple(Gap(seat=None, begin=10.0 * number, end=10.0 * number + 5) for number in range(GAPS + 3))
    assert "3 more such times are not told." in Seen(time_section(account(gaps=gaps))).text


@pytest.mark.parametrize(
    ("share", "words"),
    [(0, "0.0 %"), (0.0001, "under 0.1 %"), (0.5, "50.0 %"), (0.99999, "99.9 %"), (1, "100.0 %")],
)
def test_a_share_is_all_only_where_nothing_is_missing(share: float, words: str) -> None:
    assert percent(share) == words


def test_the_shares_in_a_line_begin_with_the_largest() -> None:
    assert brief_words({Spent.WAITING: 1.0, Spent.KEPT: 3.0, Spent.LOST: 0.0}) == "75.0 % kept, 25.0 % waiting"
    assert brief_words({}) == ""
    assert goodput_words(account()) == "75.0 % (30.0 s of 40.0 s of 2 launchers)"


ALARM = {"generation": 1, "kind": "no_step", "rank": 1, "node": "node-b", "reason": "trainer 1 has made no step"}


def test_an_alarm_has_a_row_and_a_mark_at_its_rank_and_where_the_programs_stood_is_folded_below() -> None:
    events = [*RUN[:4], told(40, "alarm", **ALARM, tail="7 of 8 in all_reduce\nrank 1 in read"), *RUN[4:]]
    seen = seen_of(events)
    assert "40.0 s10:00:40.0001no step1node-btrainer 1 has made no step" in seen.text
    assert "Where the programs stood at 10:00:40.000 UTC7 of 8 in all_reduce\nrank 1 in read" in seen.text
    assert len(seen.of("alarm")) == 2, "in its row, and in the legend"
    story = story_of(events)
    assert [[mark.kind for mark in lane.marks] for lane in story.lanes] == [[], ["alarm"]]


def test_of_several_trainers_in_a_pod_an_alarm_stands_in_the_pod_s_row() -> None:
    report = {"generation": 1, "role": "trainer", "rank": 5, "node_rank": 1, "pass": 0, "metrics": {}}
    story = story_of([*RUN[:4], told(39, "progress", **report), told(40, "alarm", **{**ALARM, "rank": 5})])
    assert [str(lane.seat) for lane in story.lanes if lane.marks] == ["node 1"]


def test_an_alarm_of_all_stands_in_no_row_and_is_said_while_the_run_goes_on() -> None:
    alarm = told(40, "alarm", **{**ALARM, "rank": None, "reason": "all stand at the same line"})
    seen = seen_of([*RUN[:4], alarm])
    assert "The last alarm was in generation 1, after 40.0 s: all stand at the same line." in seen.text
    assert not seen.of("alarm")
