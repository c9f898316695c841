"""One row a rule: when a run begins after an earlier one of its name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launcher.contract import Code
from launcher.pod.gang.protocol.messages import NumberedRun
from launcher.pod.gang.store.succession import Predecessor, Stillness, held, is_over, may_begin, overtaken, still
from launcher.pod.outcome import Outcome

RUN = NumberedRun(number=3, key="uid-3", namespace="team-a", peer_timeout=15.0)
MOVING = Predecessor(run=RUN, over=False, counters=(b"1", b"0000000007\n", b""))
SINCE = 100.0

BEGINS = [
    ("there was none", Stillness(), SINCE, True),
    ("it is over: at once", Stillness(seen=replace(MOVING, over=True), since=SINCE), SINCE, True),
    ("it was seen just now", Stillness(seen=MOVING, since=SINCE), SINCE, False),
    ("its lease and its loss are not over", Stillness(seen=MOVING, since=SINCE), SINCE + 24.9, False),
    ("nothing of it can run any more", Stillness(seen=MOVING, since=SINCE), SINCE + 25, True),
    (
        "it lives by longer limits than ours",
        Stillness(seen=replace(MOVING, run=replace(RUN, peer_timeout=60.0)), since=SINCE),
        SINCE + 99,
        False,
    ),
]


@pytest.mark.parametrize(("known", "now", "begins"), [row[1:] for row in BEGINS], ids=[row[0] for row in BEGINS])
def test_a_run_begins_once_the_one_before_it_is_over_or_stood_still(
    known: Stillness, now: float, begins: bool
) -> None:
    assert may_begin(known, now) is begins
    assert (held(known, now) == "") is begins


OVER = [
    ("its last generation rests", 2, 2, None, True),
    ("an earlier one does", 2, 1, None, False),
    ("it succeeded", 2, 1, Outcome(code=0, reason="done"), True),
    ("it failed: its programs may be in their grace", 2, 1, Outcome(code=7, reason="no"), False),
]


@pytest.mark.parametrize(
    ("begun", "rest", "verdict", "over"), [row[1:] for row in OVER], ids=[row[0] for row in OVER]
)
def test_a_run_is_over_once_it_rests_or_has_succeeded(
    begun: int, rest: int, verdict: Outcome | None, over: bool
) -> None:
    assert is_over(begun, rest, verdict) is over


def test_who_is_overtaken_ends_and_names_the_newer_run() -> None:
    verdict = overtaken(RUN)
    assert verdict.code == Code.GANG
    assert verdict.reason.startswith("run 3 of this name (key uid-3, namespace team-a) has begun: ")


@pytest.mark.parametrize(
    "changed",
    [
        replace(MOVING, counters=(b"1", b"0000000008\n", b"")),
        replace(MOVING, counters=(b"1", b"0000000007\n", b"0000000001\n")),
        replace(MOVING, counters=(b"2", b"0000000007\n", b"")),
        replace(MOVING, run=replace(RUN, number=4)),
    ],
    ids=["the leader's counter", "the second member's", "another generation", "another run"],
)
def test_whatever_moves_begins_the_wait_anew(changed: Predecessor) -> None:
    known = Stillness(seen=MOVING, since=SINCE, looked=SINCE + 20)
    assert still(known, MOVING, SINCE + 23) == replace(known, looked=SINCE + 23)
    assert still(known, changed, SINCE + 23) == Stillness(seen=changed, since=SINCE + 23, looked=SINCE + 23)


def test_time_in_which_the_volume_answered_nobody_is_no_stillness() -> None:
    """A lease of it counts: else a launcher that looks more seldom than that would never begin."""
    known = Stillness(seen=MOVING, since=SINCE, looked=SINCE + 3)
    after = still(known, MOVING, SINCE + 63)
    assert after == Stillness(seen=MOVING, since=SINCE + 50, looked=SINCE + 63)
    assert not may_begin(after, SINCE + 63)
    for look in range(66, 76, 3):
        after = still(after, MOVING, SINCE + look)
    assert may_begin(after, SINCE + 75)


def test_the_sentence_names_key_and_namespace_and_stays_the_same_while_counters_move() -> None:
    one = held(Stillness(seen=MOVING, since=SINCE), SINCE)
    other = held(Stillness(seen=replace(MOVING, counters=()), since=SINCE + 3), SINCE + 4)
    assert one == other
    assert one.startswith("run 3 of this name (key uid-3, namespace team-a) may still be running: ")
    assert str(replace(RUN, namespace="")) == "run 3 of this name (key uid-3)"
    assert str(replace(RUN, number=0, namespace="")) == "the run of key uid-3"
