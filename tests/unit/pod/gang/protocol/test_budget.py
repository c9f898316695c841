"""One row a rule: what a restart costs, when one is given back, and when another one would not help."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launcher.contract import Code
from launcher.pod.gang.protocol.budget import ENOUGH, following, hopeless, reached_by, spent_by
from launcher.pod.gang.protocol.messages import Failure, Generation
from tests.support.gang_world.views import gang

FAILED = Failure(generation=1, code=1, reason="trainer 1 exited with 1", tail="ValueError: bad\n", proof="cafe")
LOST = Failure(generation=1, code=Code.GANG, reason="node 1 is gone", address="10.0.0.2")
TOLD = replace(LOST, told=True)
FAILING = gang(restarts=1, reached=5, failing="cafe", failed=2)


@pytest.mark.parametrize(
    ("newest", "reached"), [((), 0), ((None,), 0), ((0,), 1), ((4, None), 5), ((None, 4), 5), ((4, 6), 7)]
)
def test_passes_are_counted_by_the_newest_that_anybody_sees(newest: tuple[int | None, ...], reached: int) -> None:
    assert reached_by(*newest) == reached


SPENT = [
    ("no new pass", gang(restarts=3, reached=5), 5, 3),
    ("one new pass", gang(restarts=3, reached=5), 6, 2),
    ("more passes than restarts", gang(restarts=3, reached=5), 50, 0),
    ("some were given back before", gang(restarts=7, regained=5, reached=5), 6, 1),
    ("a pass is not seen for a moment", gang(restarts=3, reached=5), 4, 3),
    ("of a launcher that counted none", gang(restarts=3, resume=4), 5, 3),
    ("of that one, and a pass more", gang(restarts=3, resume=4), 6, 2),
]


@pytest.mark.parametrize(("last", "reached", "spent"), [row[1:] for row in SPENT], ids=[row[0] for row in SPENT])
def test_each_new_pass_gives_a_restart_back(last: Generation, reached: int, spent: int) -> None:
    assert spent_by(last, reached) == spent
    after = following(last, LOST, reached)
    assert (after.restarts, after.spent) == (last.restarts + 1, spent + 1)
    told = following(last, TOLD, reached)
    assert (told.restarts, told.spent) == (last.restarts, spent)


def test_each_third_planned_end_in_a_row_without_a_new_pass_spends_a_restart() -> None:
    last, seen = gang(reached=5), []
    for reached in (5, 5, 5, 5, 6, 6, 6):
        last = following(last, TOLD, reached, planned=True)
        seen.append((last.restarts, last.left))
    assert seen == [(0, 1), (0, 2), (1, 0), (1, 1), (1, 1), (1, 2), (2, 0)]
    assert following(gang(left=2, reached=5), LOST, 5).left == 0
    assert following(gang(left=2, reached=5), TOLD, 5).left == 2


def test_a_pass_that_is_not_seen_for_a_moment_gives_nothing_back_when_it_is_seen_again() -> None:
    after = following(gang(restarts=3, reached=5), LOST, 3)
    assert (after.reached, spent_by(after, 5), spent_by(after, 6)) == (5, 4, 3)


def test_a_loss_after_each_pass_never_spends_more_than_one() -> None:
    last = gang()
    for passes in range(1, 100):
        last = following(last, LOST, passes)
    assert (last.restarts, last.spent) == (99, 1)


ROWS = [
    ("the same, without a new pass", FAILING, FAILED, 5, ("cafe", 3)),
    ("the same, after a new pass", FAILING, FAILED, 6, ("cafe", 1)),
    ("another one", FAILING, replace(FAILED, proof="beef"), 5, ("beef", 1)),
    ("a loss in between is not counted", FAILING, LOST, 5, ("cafe", 2)),
    ("nor is a stop", FAILING, TOLD, 5, ("cafe", 2)),
    ("a loss, after a new pass", FAILING, LOST, 6, ("", 0)),
    ("a pass is not seen for a moment", FAILING, FAILED, 4, ("cafe", 3)),
    ("the first", gang(), FAILED, 0, ("cafe", 1)),
    ("a failure that another leader has counted", replace(FAILING, number=2), FAILED, 5, ("cafe", 2)),
]


@pytest.mark.parametrize(("last", "cause", "reached", "row"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_how_often_a_program_failed_alike_in_a_row(
    last: Generation, cause: Failure, reached: int, row: tuple[str, int]
) -> None:
    after = following(last, cause, reached)
    assert (after.failing, after.failed) == row


@pytest.mark.parametrize(
    ("reached", "where"), [(0, "before the first pass was complete"), (1, "after pass 0"), (5, "after pass 4")]
)
def test_the_third_time_says_that_restarts_would_not_help_and_why(reached: int, where: str) -> None:
    """The line itself is the last of the log's end, which goes with it, and is not for anybody to read."""
    found = hopeless(FAILED, gang(failed=ENOUGH, reached=reached))
    assert found
    assert found.reason == (
        f"restarts would not help: trainer 1 exited with 1, for the third time {where} and with the same last line; "
        "correct the program or its data, and submit the job again"
    )
    assert (found.code, found.tail, found.generation) == (1, "ValueError: bad\n", 1)


@pytest.mark.parametrize("failed", [0, 1, 2])
def test_twice_is_not_enough(failed: int) -> None:
    assert hopeless(FAILED, gang(failed=failed)) is None
