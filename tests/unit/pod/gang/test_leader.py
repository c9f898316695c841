"""One row a rule: what the leader says next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launcher.contract import Code
from launcher.pod.gang.protocol.leader import lead
from launcher.pod.gang.protocol.leader_state import SEALING, Lead
from launcher.pod.gang.protocol.messages import Failure, LeaderMessage, Stage
from launcher.pod.gang.protocol.state import Recorded, View
from launcher.pod.outcome import Outcome
from tests.support.gang_world.views import ENDED, LIMITS, NOW, OVER, READY, RULES, gang, of, status, view, who


def said(stage: Stage, **facts: object) -> Lead:
    return replace(Lead(word=LeaderMessage(stage=stage, generation=gang()), since=NOW), **facts)  # type: ignore[arg-type]


def failing(code: int, generation: int = 1) -> View:
    failed = Failure(generation=generation, code=code, reason="it failed")
    return view(status(2, ready=generation, known=generation, failure=failed), READY[0], READY[2])


SERVED = tuple(replace(each, trained=1) for each in READY)
RAN = Lead(word=ENDED)
SPENT = Lead(word=replace(ENDED, generation=gang(restarts=3)))
ASKED = Lead(asked=gang(), tried=1)
STALE = Lead(asked=gang(digest="old"), tried=1)
MADE = view(record=Recorded(highest=1, made=1))
OVERTAKEN = view(status(3, known=1), record=Recorded(highest=2, latest=gang(2, who(7), who(8), who(9))))
OTHERS = replace(READY[0], digest="another order")
LEADS = [
    ("all are there: a generation is asked for, not begun", Lead(), view(), Stage.GATHERING, "asked"),
    ("it is made", ASKED, MADE, Stage.READYING, ""),
    ("made for a gang that has changed: another is asked for", STALE, MADE, Stage.GATHERING, "asked"),
    ("made, and somebody is missing by now", ASKED, replace(MADE, heard={}), Stage.GATHERING, ""),
    ("not all are ready", said(Stage.READYING), view(READY[0], READY[1]), Stage.READYING, ""),
    ("all are ready", said(Stage.READYING), view(*READY), Stage.SERVING, ""),
    ("ready, but strangers may run", said(Stage.READYING, hold=NOW + 1), view(*READY), Stage.READYING, ""),
    ("all serve", said(Stage.SERVING), view(*READY), Stage.TRAINING, ""),
    ("all are trained", said(Stage.TRAINING), view(*SERVED), Stage.TRAINING, "done"),
    ("not all are trained", said(Stage.TRAINING), view(SERVED[0], SERVED[1], READY[2]), Stage.TRAINING, ""),
    ("a child failed: again", said(Stage.TRAINING), failing(7), Stage.GATHERING, ""),
    (
        "a failure of an earlier generation is no news",
        RAN,
        view(status(2, failure=ENDED.cause)),
        Stage.GATHERING,
        "asked",
    ),
    ("no restart cures this", said(Stage.TRAINING), failing(Code.DATA), Stage.GATHERING, "failed"),
    ("before any generation every failure is the end", Lead(), failing(7, generation=0), Stage.GATHERING, "failed"),
    ("another leader went on", said(Stage.TRAINING), view(*READY, record=Recorded(highest=2)), Stage.GATHERING, ""),
    ("a later gang is complete without any of this one", RAN, OVERTAKEN, Stage.GATHERING, ""),
    ("the record was not read yet", Lead(), view(record=Recorded(known=False)), Stage.GATHERING, ""),
    ("the gang has others", said(Stage.TRAINING), replace(view(*READY), mine=OTHERS), Stage.GATHERING, ""),
    ("no restart is left", SPENT, view(), Stage.GATHERING, "failed"),
    ("the verdict waits for the record", said(Stage.TRAINING, sealing=OVER), view(), Stage.TRAINING, "failed"),
    (
        "the record has it",
        said(Stage.TRAINING, sealing=OVER),
        view(record=Recorded(sealed=OVER)),
        Stage.OVER,
        "failed",
    ),
    ("the record hangs", said(Stage.TRAINING, sealing=OVER, since=NOW - SEALING), view(), Stage.OVER, "failed"),
    ("nothing changed for too long", Lead(seen=(), since=NOW - 601), of(view(), 2, status=None), Stage.GATHERING, ""),
]


@pytest.mark.parametrize(
    ("before", "seen", "stage", "asks"), [row[1:] for row in LEADS], ids=[row[0] for row in LEADS]
)
def test_a_leader_goes_on_or_not(before: Lead, seen: View, stage: Stage, asks: str) -> None:
    after = lead(before, seen, RULES)
    assert after.word.stage is stage
    assert bool(after.asked) == (asks == "asked")
    assert (after.sealing is None) == (asks not in ("done", "failed"))
    assert after.sealing is None or bool(after.sealing.code) == (asks == "failed")


def test_a_generation_goes_on_from_the_newest_pass_that_all_see_with_the_next_number() -> None:
    seen = view(status(2, passes=(0, 1, 2), known=4), status(3, passes=None), record=Recorded(highest=3))
    asked = lead(RAN, seen, RULES).asked
    assert asked
    assert (asked.number, asked.resume, asked.restarts, asked.cause) == (5, 1, 1, "a child ended with 7")


def test_of_two_leaders_verdicts_the_first_in_the_record_stands() -> None:
    other = Outcome(code=0, reason="every trainer is done")
    after = lead(said(Stage.GATHERING, sealing=OVER), view(record=Recorded(sealed=other)), RULES)
    assert after.word.verdict == other


def test_failures_that_come_soon_make_it_wait_ever_longer() -> None:
    pauses = []
    before = said(Stage.TRAINING, begun=NOW - 1)
    for _ in range(8):
        after = lead(before, failing(7), RULES)
        pauses.append(after.not_before - NOW)
        before = replace(before, quick=after.quick)
    assert pauses == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_strangers_of_the_record_are_waited_for_until_they_must_know() -> None:
    strangers = gang(4, who(7), who(8), who(9))
    seen = view(record=Recorded(highest=4, latest=strangers))
    asked = lead(Lead(), seen, RULES)
    made = lead(asked, replace(seen, record=Recorded(highest=5, made=5)), RULES)
    assert made.hold == NOW + LIMITS.lost + LIMITS.lease
    known = view(record=Recorded(highest=4, latest=gang(4, who(7), who(2), who(9))))
    assert lead(Lead(), known, RULES).hold == 0


def test_a_number_that_was_given_up_is_not_asked_for_again() -> None:
    """The record may yet make it."""
    asked = lead(STALE, view(), RULES).asked
    assert asked
    assert asked.number == 2


def test_the_budget_is_known_without_a_record() -> None:
    members = [status(number, known=4, restarts=2) for number in (2, 3)]
    asked = lead(Lead(), view(*members), RULES).asked
    assert asked
    assert (asked.number, asked.restarts) == (5, 3)
    spent = lead(Lead(), view(replace(members[0], restarts=3)), RULES)
    assert spent.sealing
    assert spent.sealing.code == Code.GANG
