"""How wide a gang is: how long more are waited for, who leads nothing, and when a wider one follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launcher.pod.gang.protocol.leader import lead
from launcher.pod.gang.protocol.leader_state import Lead
from launcher.pod.gang.protocol.messages import Failure, Generation, LeaderMessage, Stage
from launcher.pod.gang.protocol.planned.new_pass import PassLook
from launcher.pod.gang.protocol.planned.width import (
    Growth,
    LeftOut,
    goes_on_without,
    grown,
    has_another_order,
    has_no_part,
    is_of_the_run,
    pods_left_out,
    too_few,
    wait_for_more,
)
from launcher.pod.gang.protocol.state import Heard, Recorded, Rules, View
from launcher.pod.settings.nouns import Resize, Width
from tests.support.gang_world.views import (
    BORN_AGAIN,
    NOW,
    READYING,
    RULES,
    TRAINING,
    gang,
    heard,
    of,
    status,
    view,
    who,
)

WIDTH = Width(least=2, most=5, settle=30.0, shrink_after=60.0, resize=Resize.PASS)
ELASTIC = replace(RULES, width=WIDTH)
ALL = tuple(who(number).address for number in (1, 2, 3, 4))


@pytest.mark.parametrize(
    ("trainers", "known", "stopped", "seconds"),
    [
        (5, 0, 0, 0.0),
        (3, 0, 0, 30.0),
        (3, 2, 0, 60.0),
        (3, 2, 1, 60.0),
        (3, 2, 2, 0.0),
        (5, 2, 0, 0.0),
    ],
)
def test_more_are_waited_for_at_the_start_and_after_a_loss(
    trainers: int, known: int, stopped: int, seconds: float
) -> None:
    assert wait_for_more(trainers, WIDTH, status(1, known=known, stopped=stopped)) == seconds


def test_a_run_begins_with_more_than_half_of_all_pods_that_there_may_be() -> None:
    three = view(listed=ALL[:3])
    assert too_few(three, ELASTIC) == ""
    assert too_few(three, replace(RULES, width=replace(WIDTH, most=6))) == (
        "3 of at most 6 pods are here: a run begins with more than half of them"
    )
    with_spares = replace(RULES, width=replace(WIDTH, most=4, spares=2))
    assert "3 of at most 6 pods" in too_few(three, with_spares)
    assert too_few(replace(three, order=ALL[:2]), ELASTIC) == "", "who takes part is no matter"
    assert "2 of at most 5 pods" in too_few(of(three, 2, refused=True), ELASTIC)
    assert "2 of at most 5 pods" in too_few(of(three, 2, sent=NOW - 11), ELASTIC)
    assert too_few(view(), RULES) == ""


def newcomer(word: LeaderMessage | None = TRAINING, latest: Generation | None = None, **facts: object) -> View:
    """Return what pod 4 sees, which has taken part in nothing, of a gang that goes on without it."""
    leader = status(1, digest="other", ready=1, known=1, word=word)
    seen = view(status(4), leader, mine=4, order=ALL, record=Recorded(latest=latest or gang(), highest=1))
    return of(seen, 1, **facts)


SAID = "10.0.0.1 leads generation 1, which this pod has no part in"


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (newcomer(), SAID),
        (newcomer(READYING), SAID),
        (newcomer(status=None), ""),
        (newcomer(status=None, stranger="a launcher of another job"), ""),
        (newcomer(refused=True), ""),
        (newcomer(None), ""),
        (newcomer(LeaderMessage(generation=gang())), ""),
        (newcomer(replace(TRAINING, stage=Stage.OVER)), ""),
        (newcomer(replace(TRAINING, generation=gang(2))), ""),
        (newcomer(latest=gang(1, who(1, boot="before"), who(2))), ""),
        (newcomer(latest=gang(1, who(9), who(2))), ""),
        (replace(newcomer(), record=Recorded()), ""),
    ],
)
def test_a_leader_that_answers_says_whether_its_generation_goes_on(seen: View, said: str) -> None:
    assert goes_on_without(seen) == said


LEFT = status(2, known=1)


@pytest.mark.parametrize(
    ("seen", "outside"),
    [
        (newcomer(), True),
        (newcomer(status=None), True),
        (newcomer(refused=True), True),
        (newcomer(latest=gang(1, who(9), who(4))), False),
        (newcomer(latest=gang(1, who(9), who(2))), True),
        (of(newcomer(latest=gang(1, who(9), who(2))), 1, status=status(1)), False),
        (of(newcomer(), 2, status=LEFT), False),
        (of(newcomer(), 2, status=replace(LEFT, ready=1)), True),
        (of(newcomer(), 2, status=replace(LEFT, children=1)), True),
        (of(newcomer(), 2, status=replace(LEFT, who=who(2, boot="2"))), True),
        (of(newcomer(), 2, status=LEFT, refused=True), True),
        (replace(newcomer(), record=Recorded(latest=gang(), highest=1, rested=1)), False),
        (replace(newcomer(), record=Recorded()), False),
        (replace(newcomer(), mine=status(4, known=1)), False),
    ],
)
def test_who_has_no_part_in_a_generation_that_may_run_leads_nothing(seen: View, outside: bool) -> None:
    assert has_no_part(seen) is outside


def failed(number: int, latest: Generation | None, looked: float = NOW) -> bool:
    failure = Failure(generation=0, code=65, reason="its data is bad", address=who(number).address)
    record = Recorded(latest=latest, highest=latest.number if latest else 0, looked=looked)
    return is_of_the_run(failure, NOW, view(record=record), ELASTIC)


def test_who_comes_with_bad_data_ends_a_run_that_has_not_begun_and_else_itself() -> None:
    assert failed(2, None)
    assert not failed(2, None, looked=NOW - 1)
    assert failed(2, gang(1, who(1), who(2)))
    assert not failed(3, gang(1, who(1), who(2)))
    assert not failed(4, gang(1, who(1), who(2)))
    assert is_of_the_run(Failure(generation=0, code=65, reason="bad"), NOW, view(), RULES)


def test_a_member_that_sees_other_pods_before_the_start_has_not_failed() -> None:
    moved = view(status(2, digest="other"))
    assert has_another_order(who(2), READYING, moved, ELASTIC) == "10.0.0.2 sees other pods"
    assert has_another_order(who(2), READYING, view(), ELASTIC) == ""
    assert has_another_order(who(2), READYING, view(replace(BORN_AGAIN, digest="")), ELASTIC) == ""
    assert has_another_order(who(2), READYING, replace(moved, heard={}), ELASTIC) == ""
    assert has_another_order(who(2), TRAINING, moved, ELASTIC) == ""
    assert has_another_order(who(2), READYING, moved, RULES) == ""


def wider(fourth: Heard | None = None, **facts: object) -> View:
    """Return what the leader of three sees, where a fourth has its data for an order of four."""
    seen = view(*(status(number, ready=1, known=1) for number in (1, 2, 3)), newest=ALL, newest_digest="four")
    fourth = fourth or heard(status(4, digest="four"))
    return replace(seen, heard={**seen.heard, ALL[3]: fourth}, **facts)  # type: ignore[arg-type]


def test_a_fourth_takes_part_at_once_where_that_is_asked_for() -> None:
    at_once = replace(RULES, width=replace(WIDTH, resize=Resize.NOW))
    assert grown(Growth(), TRAINING, wider(), at_once)[1] == "1 pod is ready to take part"


FOURTH = status(4, digest="four")
NOT_YET = {
    "nobody came": wider(newest=ALL[:3]),
    "one of these is not there any more": wider(newest=(*ALL[1:], "10.0.0.5", "10.0.0.6")),
    "it was not heard": wider(Heard()),
    "its data is not there": wider(heard(replace(FOURTH, staged=False))),
    "it sees others": wider(heard(replace(FOURTH, digest="five"))),
    "it was told another width": wider(heard(replace(FOURTH, width="2:4"))),
    "it was told to stop": wider(heard(replace(FOURTH, stopping=True))),
    "it is gone": wider(heard(FOURTH, refused=True)),
    "it has not answered of late": wider(heard(FOURTH, sent=NOW - 11)),
    "a trainer is done": of(wider(), 2, status=status(2, ready=1, known=1, trained=1)),
}


@pytest.mark.parametrize("seen", NOT_YET.values(), ids=NOT_YET)
@pytest.mark.parametrize("resize", [Resize.NOW, Resize.PASS])
def test_who_is_not_ready_changes_nothing(seen: View, resize: Resize) -> None:
    rules = replace(RULES, width=replace(WIDTH, resize=resize))
    before = Growth(digest="three", passes=PassLook(asked=NOW))
    assert grown(before, TRAINING, seen, rules) == (Growth(), "")


def test_where_it_is_not_wished_for_nobody_comes() -> None:
    never = replace(RULES, width=replace(WIDTH, resize=Resize.NEVER))
    for rules in (never, RULES):
        assert grown(Growth(), TRAINING, wider(), rules) == (Growth(), "")
    assert grown(Growth(), replace(TRAINING, generation=None), wider(), ELASTIC) == (Growth(), "")


def test_a_pass_that_is_new_since_all_were_ready_is_waited_for() -> None:
    def after(before: Growth, newest: int | None, read: float, now: float) -> tuple[Growth, str]:
        record = Recorded(newest=newest, read=read)
        return grown(before, TRAINING, wider(heard(FOURTH, sent=now), now=now, record=record), ELASTIC)

    asked, why = after(Growth(), None, NOW - 100, NOW)
    assert (asked, why) == (Growth(digest="four", passes=PassLook(asked=NOW)), "")
    assert after(asked, 7, NOW - 100, NOW + 0.5) == (asked, "")
    first, why = after(asked, None, NOW, NOW + 0.5)
    assert (first.passes.first, first.waiting, why) == (0, "1 pod is ready to take part after the next pass", "")
    assert first.passes.due == NOW + 1.0
    again, why = after(first, None, NOW, NOW + 1.0)
    assert (again.passes.asked, why) == (NOW + 1.0, "")
    assert after(again, 0, NOW + 1.0, NOW + 1.1)[1] == "1 pod is ready to take part"
    later = replace(again, passes=replace(again.passes, first=1))
    assert after(later, 0, NOW + 1.0, NOW + 1.1) == (later, "")
    assert PassLook().due is None


def test_a_pass_that_all_have_just_saved_is_not_looked_for() -> None:
    grown_now = grown(Growth(), TRAINING, wider(), ELASTIC, saved=True)
    assert grown_now == (Growth(), "1 pod is ready to take part")
    assert grown(Growth(), TRAINING, wider(newest=ALL[:3]), ELASTIC, saved=True) == (Growth(), "")


# Who is left out.

LISTED = ALL[:3]
SINCE = dict.fromkeys(ALL, NOW - 1000.0)
OF_THREE = replace(RULES, width=replace(WIDTH, least=1, most=3, shrink_after=20.0))
LATEST = Recorded(latest=gang(), highest=1)
SILENT = {"sent": NOW - 36.0}  # longer than the time-out and the wait for it
OF_FOUR = Recorded(latest=gang(1, *(who(number) for number in (1, 2, 3, 4))), highest=1)


def out(seen: View, listed: tuple[str, ...] = LISTED, rules: Rules = OF_THREE) -> tuple[str, ...]:
    return pods_left_out(SINCE, replace(seen, listed=listed), rules).addresses


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (view(record=LATEST), ()),
        (view(status(2, stopping=True), record=LATEST), ALL[1:2]),
        (of(view(record=LATEST), 2, **SILENT), ALL[1:2]),
        (of(view(record=LATEST), 2, sent=NOW - 34.0), ()),
        (of(view(record=LATEST), 2, refused=True, sent=NOW - 21.0), ALL[1:2]),
        (of(view(record=LATEST), 2, refused=True), ()),
        (of(view(record=LATEST), 2, stranger="another's", **SILENT), ALL[1:2]),
        (of(of(view(record=LATEST), 2, **SILENT), 3, **SILENT), ()),
        (of(of(view(), 2, **SILENT), 3, **SILENT), LISTED[1:]),
        (view(status(1, left_out=ALL[2:3]), mine=2, record=LATEST), ALL[2:3]),
        (view(status(1, stopping=True), mine=2, record=LATEST), ALL[:1]),
        (of(view(mine=2, record=LATEST), 1, **SILENT), ALL[:1]),
        (of(of(view(mine=3, record=LATEST), 1, **SILENT), 2, status=None, sent=NOW - 1), ALL[:1]),
        (of(of(view(record=OF_FOUR), 2, **SILENT), 3, **SILENT), ()),
    ],
    ids=[
        "all are heard",
        "one was told to stop",
        "one is silent for long enough",
        "not long enough",
        "nobody listens there any more",
        "it may come back",
        "a stranger answers there",
        "two of three cannot be left out by one",
        "before the first start half is no matter",
        "the first one says it",
        "the first was told to stop",
        "the first is silent",
        "the next one has not said anything yet",
        "half of the last start is gone, and one of its members is not listed",
    ],
)
def test_the_first_that_is_there_says_who_is_left_out(seen: View, expected: tuple[str, ...]) -> None:
    assert out(seen) == expected


def test_a_spare_takes_the_place_of_one_that_is_gone_at_once() -> None:
    rules = replace(OF_THREE, width=replace(WIDTH, least=3, most=3, shrink_after=20.0, spares=1))
    there = replace(view(record=LATEST), heard={**view().heard, ALL[3]: heard(status(4))})
    assert out(of(there, 2, refused=True), ALL, rules) == ALL[1:2]
    assert out(of(there, 2, sent=NOW - 16.0), ALL, rules) == ALL[1:2]
    assert out(of(there, 2, sent=NOW - 14.0), ALL, rules) == ()
    due = pods_left_out(SINCE, of(replace(there, listed=ALL), 2, sent=NOW - 14.0), rules).due
    assert due == NOW + 1.0


def test_half_with_the_last_leader_goes_on_and_half_without_it_waits() -> None:
    two = replace(WIDTH, least=1, most=2, shrink_after=20.0)
    rules = replace(RULES, width=two)
    record = Recorded(latest=gang(1, who(1), who(2)), highest=1)
    assert out(of(view(record=record), 2, **SILENT), ALL[:2], rules) == ALL[1:2]
    assert out(of(view(mine=2, record=record), 1, **SILENT), ALL[:2], rules) == ()


def test_a_gang_of_one_width_leaves_nobody_out() -> None:
    assert pods_left_out(SINCE, of(view(listed=LISTED), 2, **SILENT), RULES) == LeftOut()


@pytest.mark.parametrize(
    ("width", "told"),
    [
        (WIDTH, "2:5"),
        (replace(WIDTH, spares=1), "2:5, 1 spare"),
        (replace(WIDTH, unit=2), "2:5 in units of 2"),
        (replace(WIDTH, spares=2, unit=2), "2:5, 2 spares in units of 2"),
    ],
)
def test_a_width_is_told_whole(width: Width, told: str) -> None:
    assert str(width) == told


def test_who_was_told_another_width_is_waited_for_where_a_gang_has_begun() -> None:
    other = view(*(status(number, width="2:5" if number < 3 else "2:4") for number in (1, 2, 3)))
    begun = replace(other, record=Recorded(latest=gang(1, who(1), who(2)), highest=1, looked=NOW + 1), listed=ALL[:3])
    after = lead(Lead(since=NOW), begun, ELASTIC)
    assert after.sealing is None
    assert after.word.waiting.startswith("LAUNCHER_MEMBERS is 2:5 on 10.0.0.1 and 2:4 on 10.0.0.3")
    first = lead(Lead(since=NOW), replace(begun, record=Recorded(looked=NOW + 1)), ELASTIC)
    assert first.sealing
    assert first.sealing.code == 78
