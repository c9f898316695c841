"""One row a rule: what the leader says next."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from launcher.contract import Code
from launcher.pod.gang.protocol.leader import due_again, lead
from launcher.pod.gang.protocol.leader_state import FIRST_QUESTION, SEALING, Lead
from launcher.pod.gang.protocol.messages import Failure, LeaderMessage, Marks, Stage, Status, Trainer, Wait
from launcher.pod.gang.protocol.state import NodeFailure, Recorded, View
from launcher.pod.outcome import Outcome
from tests.support.gang_world.views import (
    BORN_AGAIN,
    ENDED,
    LIMITS,
    NOW,
    OVER,
    READY,
    RULES,
    TRAINING,
    gang,
    heard,
    of,
    status,
    view,
    who,
)


def said(stage: Stage, **facts: object) -> Lead:
    return replace(Lead(word=LeaderMessage(stage=stage, generation=gang()), since=NOW), **facts)  # type: ignore[arg-type]


def failing(code: int, generation: int = 1) -> View:
    failed = Failure(generation=generation, code=code, reason="it failed")
    return view(status(2, ready=generation, known=generation, failure=failed), READY[0], READY[2])


SERVED = tuple(replace(each, trained=1) for each in READY)
CHECKED = tuple(replace(each, checked=1) for each in SERVED)
STOPPED = replace(READY[1], stopping=True, stopped=1)
WAITS = replace(READY[1], marks=Marks(at=("b",)), waits=(Wait(name="b"),))
RAN = Lead(word=ENDED)
SPENT = Lead(word=replace(ENDED, generation=gang(restarts=3, reached=2)))
SPARE = said(Stage.TRAINING, word=replace(TRAINING, generation=gang(restarts=3)))
TOLD = Failure(generation=1, code=Code.GANG, reason="node 1 was told to stop", told=True)
AGAIN = replace(ENDED, cause=Failure(generation=1, code=7, reason="a child ended with 7", proof="cafe"))
ALIKE = Lead(word=replace(AGAIN, generation=gang(reached=2, failing="cafe", failed=2)))
ALIKE_LATER = Lead(word=replace(AGAIN, generation=gang(reached=1, failing="cafe", failed=2)))
STOPPED_SPENT = Lead(word=replace(ENDED, generation=gang(restarts=3), cause=TOLD))
ASKED = Lead(asked=gang(), tried=1)
STALE = Lead(asked=gang(digest="old"), tried=1)
MADE = view(record=Recorded(highest=1, made=1))
OVERTAKEN = view(status(3, known=1), record=Recorded(highest=2, latest=gang(2, who(7), who(8), who(9))))
OTHERS = replace(READY[0], digest="another order")
HELD = view(record=Recorded(held="run 1 of this name may still be running"))
UNASKING = of(failing(7, generation=0), 3, wrote=0.0)
LEADS = [
    ("all are there: a generation is asked for, not begun", Lead(), view(), Stage.GATHERING, "asked"),
    ("it is made", ASKED, MADE, Stage.READYING, ""),
    ("made for a gang that has changed: another is asked for", STALE, MADE, Stage.GATHERING, "asked"),
    ("made, and somebody is missing by now", ASKED, replace(MADE, heard={}), Stage.GATHERING, ""),
    ("not all are ready", said(Stage.READYING), view(READY[0], READY[1]), Stage.READYING, ""),
    ("all are ready", said(Stage.READYING), view(*READY), Stage.SERVING, ""),
    ("ready, but strangers may run", said(Stage.READYING, hold=NOW + 1), view(*READY), Stage.READYING, ""),
    ("all serve", said(Stage.SERVING), view(*READY), Stage.TRAINING, ""),
    ("all are trained: their pservers are looked at", said(Stage.TRAINING), view(*SERVED), Stage.CHECKING, ""),
    ("one has not looked yet", said(Stage.CHECKING), view(*CHECKED[:2], SERVED[2]), Stage.CHECKING, ""),
    ("all have looked, and all is well", said(Stage.CHECKING), view(*CHECKED), Stage.CHECKING, "done"),
    ("one is lost before it looked", said(Stage.CHECKING), view(*CHECKED[:2], status(3)), Stage.GATHERING, ""),
    (
        "one is lost after it was found well",
        said(Stage.CHECKING),
        of(view(*CHECKED), 2, refused=True),
        Stage.CHECKING,
        "done",
    ),
    ("a pserver was found stopped", said(Stage.CHECKING), failing(76), Stage.GATHERING, ""),
    ("a member was told to stop", SPARE, view(READY[0], STOPPED, READY[2]), Stage.GATHERING, ""),
    ("no restart is left, but it was a stop", STOPPED_SPENT, view(), Stage.GATHERING, "asked"),
    (
        "no restart is left, and all are new: the record says that it was a stop",
        Lead(),
        view(record=Recorded(highest=1, stopped=1, latest=gang(restarts=3))),
        Stage.GATHERING,
        "asked",
    ),
    (
        "no restart is left, and all are new: it was none",
        Lead(),
        view(record=Recorded(highest=1, latest=gang(restarts=3, reached=2))),
        Stage.GATHERING,
        "failed",
    ),
    (
        "a leader that was told to stop gives no order",
        RAN,
        view(status(1, stopping=True), status(2, failure=Failure(generation=0, code=74, reason="bad"))),
        Stage.GATHERING,
        "",
    ),
    (
        "a failure of one who was not in the generation",
        said(Stage.TRAINING),
        view(*READY[:2], replace(READY[2], who=who(3, boot="2"), failure=ENDED.cause)),
        Stage.GATHERING,
        "",
    ),
    ("not all are trained", said(Stage.TRAINING), view(SERVED[0], SERVED[1], READY[2]), Stage.TRAINING, ""),
    ("a wait cannot end", said(Stage.TRAINING), view(SERVED[0], WAITS, READY[2]), Stage.GATHERING, ""),
    ("a wait may end yet", said(Stage.TRAINING), view(READY[0], WAITS, READY[2]), Stage.TRAINING, ""),
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
    ("one would not hear it: it has not asked yet", Lead(), UNASKING, Stage.GATHERING, ""),
    ("nor does it ask", Lead(seen=("as before",), since=NOW - FIRST_QUESTION), UNASKING, Stage.GATHERING, "failed"),
    ("another leader went on", said(Stage.TRAINING), view(*READY, record=Recorded(highest=2)), Stage.GATHERING, ""),
    ("a later gang is complete without any of this one", RAN, OVERTAKEN, Stage.GATHERING, ""),
    ("the record was not read yet", Lead(), view(record=Recorded(known=False)), Stage.GATHERING, ""),
    ("an earlier run of the name may still be running", Lead(), HELD, Stage.GATHERING, ""),
    ("it was asked for, and a leader does not know it any more", ASKED, HELD, Stage.GATHERING, ""),
    ("the gang has others", said(Stage.TRAINING), replace(view(*READY), mine=OTHERS), Stage.GATHERING, ""),
    ("no restart is left", SPENT, view(), Stage.GATHERING, "failed"),
    (
        "none is left, and a pass was completed since",
        Lead(word=replace(ENDED, generation=gang(restarts=3, reached=1))),
        view(),
        Stage.GATHERING,
        "asked",
    ),
    (
        "that pass is not seen by all yet",
        Lead(word=replace(ENDED, generation=gang(restarts=3, reached=2))),
        view(record=Recorded(newest=2)),
        Stage.GATHERING,
        "asked",
    ),
    ("failed alike for the third time", ALIKE, view(), Stage.GATHERING, "failed"),
    ("and a pass was completed since", ALIKE_LATER, view(), Stage.GATHERING, "asked"),
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


def test_a_wait_that_cannot_end_is_an_ordinary_failure_of_the_gang() -> None:
    after = lead(said(Stage.TRAINING), view(SERVED[0], WAITS, READY[2]), RULES)
    reason = "trainer 1 waits at 'b', and trainer 0 is done"
    assert after.word.cause == Failure(generation=1, code=Code.GANG, reason=reason)
    spent = lead(said(Stage.TRAINING), view(SERVED[0], WAITS, READY[2]), replace(RULES, restarts=0))
    assert spent.sealing
    assert (spent.sealing.code, spent.sealing.reason) == (Code.GANG, reason)


def test_a_generation_goes_on_from_the_newest_pass_that_all_see_with_the_next_number() -> None:
    seen = view(status(2, passes=(0, 1, 2)), status(3, passes=None), record=Recorded(highest=3))
    asked = lead(RAN, seen, RULES).asked
    assert asked
    assert (asked.number, asked.resume, asked.restarts, asked.cause) == (4, 1, 1, "a child ended with 7")


def test_what_ended_an_earlier_generation_says_nothing_of_a_later_one_that_another_led() -> None:
    told = replace(RAN, word=replace(RAN.word, cause=Failure(generation=1, code=7, reason="a stop", told=True)))
    asked = lead(told, view(status(2, passes=(0, 1, 2), known=4)), RULES).asked
    assert asked
    assert (asked.number, asked.restarts, asked.cause) == (5, 1, "10.0.0.1, the leader, was lost")


PLANNED = status(2, known=2, stopped=2)


@pytest.mark.parametrize(
    ("led", "gone", "cause"),
    [
        (PLANNED, False, "generation 2 ended as planned: others take part now"),
        (replace(PLANNED, stopping=True), False, "10.0.0.2, the leader, was told to stop"),
        (PLANNED, True, "10.0.0.2, the leader, was told to stop"),
        (replace(PLANNED, who=BORN_AGAIN.who), False, "10.0.0.2, the leader, was told to stop"),
        (replace(PLANNED, stopped=0), False, "10.0.0.2, the leader, was lost"),
    ],
)
def test_a_leader_that_came_says_why_anothers_generation_ended_as_far_as_it_can_know(
    led: Status, gone: bool, cause: str
) -> None:
    """Pods 2 and 3 were a gang; pod 1 is new, and the first."""
    record = Recorded(highest=2, latest=gang(2, who(2), who(3)))
    seen = of(view(led, status(3, known=2, stopped=led.stopped), record=record), 2, refused=gone)
    asked = lead(Lead(), replace(seen, order=(who(1).address, who(3).address)), RULES).asked
    assert asked
    assert (asked.cause, asked.restarts) == (cause, int(not led.stopped))


def test_a_stop_spends_no_restart_and_is_told_to_the_next_start() -> None:
    after = lead(said(Stage.TRAINING), view(READY[0], STOPPED, READY[2]), RULES)
    assert after.word.cause
    assert after.word.cause.told
    again = lead(replace(after, not_before=0.0), view(), RULES).asked
    assert again
    assert (again.restarts, again.cause) == (0, "10.0.0.2 was told to stop")
    unrecorded = lead(Lead(), view(status(2, known=4, stopped=4, restarts=3)), RULES).asked
    assert unrecorded
    assert (unrecorded.number, unrecorded.restarts) == (5, 3)


def test_members_with_other_peer_timeouts_are_refused_before_the_start() -> None:
    after = lead(
        Lead(), view(status(1, peer_timeout=24.0), status(2, peer_timeout=3.0), status(3, peer_timeout=24.0)), RULES
    )
    assert after.sealing
    assert after.sealing.code == Code.SETTINGS
    assert after.sealing.reason == (
        "LAUNCHER_PEER_TIMEOUT is 24 s on 10.0.0.1 and 3 s on 10.0.0.2: set the same on every pod"
    )


def test_members_with_other_numbers_of_programs_are_refused_before_the_start() -> None:
    two, three = (Trainer(),) * 2, (Trainer(),) * 3
    after = lead(Lead(), view(status(1, several=two), status(2, several=two), status(3, several=three)), RULES)
    assert after.sealing
    assert after.sealing.code == Code.SETTINGS
    assert after.sealing.reason == "LAUNCHER_PROCESSES is 2 on 10.0.0.1 and 3 on 10.0.0.3: set the same on every pod"
    alone = lead(Lead(), view(status(1, several=two)), RULES).sealing
    assert alone
    assert alone.reason == "LAUNCHER_PROCESSES is 2 on 10.0.0.1 and 1 on 10.0.0.2: set the same on every pod"


def test_ranks_count_the_programs_of_each_pod() -> None:
    """Values and waits are those of programs: the fourth is the second one of the second pod."""
    done, waits = Trainer(trained=1), Trainer(waits=(Wait(name="b"),), marks=Marks(at=("b",), shared={"k": "1"}))
    pods = [replace(each, several=(done, done)) for each in READY]
    pods[1] = replace(READY[1], several=(done, waits))
    after = lead(said(Stage.TRAINING), view(*pods), RULES)
    assert after.word.cause
    assert after.word.cause.reason == "trainer 3 waits at 'b', and trainer 0 is done"
    pods = [replace(each, several=(Trainer(), Trainer())) for each in READY]
    pods[1] = replace(READY[1], several=(Trainer(), waits))
    pods[2] = replace(READY[2], several=(Trainer(), Trainer(marks=Marks(shared={"k": "2"}))))
    word = lead(said(Stage.TRAINING), view(*pods), RULES).word
    assert word.cause is None
    assert word.shared == {"3": {"k": "1"}, "5": {"k": "2"}}


def test_a_leader_looks_again_when_it_waits_no_longer_for_who_has_not_asked() -> None:
    assert due_again(lead(Lead(), UNASKING, RULES), UNASKING, RULES) == NOW + FIRST_QUESTION


@pytest.mark.parametrize("known", [1, 2], ids=["given up before anybody was ready", "begun"])
def test_a_generation_that_was_made_and_not_begun_spends_no_restart(known: int) -> None:
    made = gang(2, restarts=3, reached=2, cause="node 0 was told to stop")
    seen = view(status(1, known=known), record=Recorded(highest=2, made=2, latest=made))
    after = lead(Lead(tried=2), seen, RULES)
    assert (after.sealing is None) == (known == 1)
    assert after.asked == (replace(made, number=3, resume=1) if known == 1 else None)


def test_a_run_begins_once_all_have_staged() -> None:
    assert lead(Lead(), HELD, RULES).staged
    assert not lead(Lead(), replace(HELD, heard=view(status(3, staged=False)).heard), RULES).staged


def test_of_two_leaders_verdicts_the_first_in_the_record_stands() -> None:
    other = Outcome(code=0, reason="every trainer is done")
    after = lead(said(Stage.GATHERING, sealing=OVER), view(record=Recorded(sealed=other)), RULES)
    assert after.word.verdict == other


@pytest.mark.parametrize("code", [7, Code.GANG])
def test_failures_that_come_soon_make_it_wait_ever_longer(code: int) -> None:
    pauses = []
    before = said(Stage.TRAINING, begun=NOW - 1)
    for _ in range(8):
        after = lead(before, failing(code), RULES)
        pauses.append(after.not_before - NOW)
        before = replace(before, quick=after.quick)
    assert pauses == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_a_pod_that_is_lost_soon_is_no_crash_loop() -> None:
    before = said(Stage.TRAINING, begun=NOW - 1, quick=3)
    assert lead(before, view(READY[0], BORN_AGAIN, READY[2]), RULES).not_before == NOW


def test_a_record_that_cannot_be_written_or_read_is_waited_for_with_its_trouble() -> None:
    trouble = "/volume: Read-only file system; mount the volume for writing"
    asked = lead(Lead(), view(), RULES)
    assert asked.word.waiting == "the gang's record on the volume is not written yet"
    after = lead(asked, view(record=Recorded(trouble=trouble)), RULES)
    assert after.word.waiting == f"the gang's record on the volume is not written yet: {trouble}"
    after = lead(Lead(), view(record=Recorded(known=False, trouble=trouble)), RULES)
    assert after.word.waiting == f"the gang's record on the volume is not read yet: {trouble}"


def test_a_volume_that_refuses_with_ever_another_reason_is_waited_for_no_longer() -> None:
    after, now = lead(Lead(), view(), RULES), NOW
    while not after.sealing and now < NOW + 2 * LIMITS.gather:
        now += LIMITS.wait
        record = Recorded(trouble=f"trouble {now % 2}" if now % 3 else "")
        others = {each: replace(known, sent=now, wrote=now) for each, known in view().heard.items()}
        after = lead(after, view(now=now, heard=others, record=record), RULES)
    assert after.sealing
    assert after.sealing.code == Code.JOIN
    assert after.sealing.reason.startswith(
        "nothing changed for 600 s: the gang's record on the volume is not written"
    )


def test_strangers_of_the_record_are_waited_for_until_they_must_know() -> None:
    strangers = gang(4, who(7), who(8), who(9))
    seen = view(record=Recorded(highest=4, latest=strangers))
    asked = lead(Lead(), seen, RULES)
    made = lead(asked, replace(seen, record=Recorded(highest=5, made=5)), RULES)
    assert made.hold == NOW + LIMITS.lost + LIMITS.lease
    known = view(record=Recorded(highest=4, latest=gang(4, who(7), who(2), who(9))))
    assert lead(Lead(), known, RULES).hold == 0


@pytest.mark.parametrize(
    ("third", "hold"), [(3, 0.0), (9, NOW + LIMITS.lost + LIMITS.lease)], ids=["here", "unknown"]
)
def test_by_names_or_a_list_who_is_here_again_is_known_by_its_address(third: int, hold: float) -> None:
    """Nobody is told the UIDs of pods there."""
    here = [replace(status(number), who=replace(who(number), uid="")) for number in (1, 2, 3)]
    before = [replace(who(number, boot="0"), uid="") for number in (1, 2, third)]
    seen = view(*here, record=Recorded(highest=4, latest=gang(4, *before)))
    made = lead(lead(Lead(), seen, RULES), replace(seen, record=Recorded(highest=5, made=5)), RULES)
    assert made.hold == hold


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


@pytest.mark.parametrize("counts", ["looked_at", "staged_bytes"])
def test_staging_that_gets_on_is_waited_for_and_one_that_does_not_is_given_up(counts: str) -> None:
    def at(now: float, count: int) -> View:
        statuses = (status(2, staged=False, **{counts: count}), status(3))
        return view(now=now, heard={each.who.address: heard(each, sent=now, wrote=now) for each in statuses})

    before = lead(Lead(), at(NOW, 1), RULES)
    before = lead(before, at(NOW + 599, 2), RULES)
    before = lead(before, at(NOW + 1198, 3), RULES)
    assert not before.sealing
    after = lead(before, at(NOW + 1798, 3), RULES)
    assert after.sealing
    assert "is staging its data" in after.sealing.reason


def test_no_member_looks_at_the_passes_while_an_earlier_run_may_write_them() -> None:
    held, free = lead(Lead(), HELD, RULES).word, lead(Lead(), view(), RULES).word
    assert (held.calm, held.waiting) == (False, HELD.record.held)
    assert free.calm


@pytest.mark.parametrize(
    ("code", "unsealed", "reason"),
    [
        (0, "the next run goes on after pass 2", "every trainer is done; the next run goes on after pass 2"),
        (0, "", "every trainer is done"),
        (7, "the next run goes on after pass 2", "every trainer is done"),
    ],
)
def test_a_success_that_is_not_recorded_says_what_follows(code: int, unsealed: str, reason: str) -> None:
    before = said(Stage.TRAINING, sealing=Outcome(code=code, reason="every trainer is done"), since=NOW - SEALING)
    verdict = lead(before, view(record=Recorded(unsealed=unsealed)), RULES).word.verdict
    assert verdict == Outcome(code=code, reason=reason)


def spent(stage: Stage = Stage.TRAINING, **facts: object) -> Lead:
    return said(stage, word=LeaderMessage(stage=stage, generation=gang(restarts=3, reached=2)), **facts)


def test_the_last_restart_is_spent_once_the_passes_were_looked_at_after_the_failure() -> None:
    """What was seen before says nothing of a pass that was completed meanwhile."""
    seen = replace(failing(7), record=Recorded(read=NOW - 1, newest=1))
    before = lead(spent(), seen, RULES)
    assert (before.doubt, before.sealing) == (NOW, None)
    assert before.word.cause
    assert before.word.cause.reason == "it failed"
    assert due_again(before, seen, RULES) == NOW + SEALING
    assert lead(before, seen, RULES).sealing is None
    assert lead(before, view(record=Recorded(read=NOW, newest=1)), RULES).sealing == Outcome(
        code=7, reason="it failed; no restart of 3 is left"
    )
    gained = lead(before, view(record=Recorded(read=NOW, newest=2)), RULES)
    assert gained.asked
    assert (gained.asked.restarts, gained.asked.spent, gained.asked.reached) == (4, 3, 3)


def test_a_volume_that_hangs_holds_the_last_restart_no_longer_than_a_verdict() -> None:
    seen = replace(failing(7), record=Recorded(read=0.0))
    before = lead(spent(), seen, RULES)
    assert lead(before, replace(seen, now=NOW + SEALING - 0.1), RULES).sealing is None
    assert lead(before, replace(seen, now=NOW + SEALING), RULES).sealing


def test_a_lost_member_is_not_waited_for_where_no_restart_is_left() -> None:
    gone = of(view(*READY), 2, refused=True)
    before = lead(spent(), replace(gone, record=Recorded(read=0.0)), RULES)
    assert before.doubt == NOW
    assert lead(before, replace(gone, record=Recorded(read=NOW + 1)), RULES).sealing


@pytest.mark.parametrize(("restarts", "read"), [(3, math.inf), (0, 0.0)], ids=["nothing to look at", "none at all"])
def test_the_verdict_comes_at_once_where_nothing_can_be_given_back(restarts: int, read: float) -> None:
    seen = replace(failing(7), record=Recorded(read=read))
    assert lead(spent(), seen, replace(RULES, restarts=restarts)).sealing


def test_a_leader_in_doubt_leaves_it_to_another_one_that_went_on() -> None:
    before = spent(Stage.GATHERING, doubt=NOW - 60)
    after = lead(
        before, view(record=Recorded(read=0.0, highest=2, latest=gang(2, reached=3, restarts=4, regained=2))), RULES
    )
    assert (after.doubt, after.sealing) == (None, None)
    assert after.asked


def test_what_members_know_of_restarts_given_back_is_known_without_a_record() -> None:
    asked = lead(Lead(), view(status(2, known=4, restarts=9, regained=7)), RULES).asked
    assert asked
    assert (asked.restarts, asked.spent, asked.reached) == (10, 3, 2)
    assert lead(Lead(), view(status(2, known=4, restarts=9, regained=6)), RULES).sealing


def on_nodes(*nodes: str, failed: int = 2) -> View:
    """Return a gang of three on these nodes, one of which has a program that failed."""
    failure = Failure(generation=1, code=7, reason="it failed", address=f"10.0.0.{failed}")
    each = [replace(READY[number], node=node) for number, node in enumerate(nodes)]
    each[failed - 1] = replace(each[failed - 1], rank=failed - 1, failure=failure)
    return view(*each)


def on(node: str, generation: int = 9, run: str = "earlier") -> NodeFailure:
    return NodeFailure(
        run=run, generation=generation, node=node, role="node", rank=0, code=1, lost=False, reason="it failed"
    )


def test_what_ended_a_generation_is_noted_with_its_node() -> None:
    after = lead(said(Stage.TRAINING), on_nodes("a", "b", "a"), RULES)
    assert after.word.cause
    assert after.word.cause.node == "b"
    assert after.ended == NodeFailure(
        run="", generation=1, node="b", role="node", rank=1, code=7, lost=False, reason="it failed"
    )
    lost = lead(said(Stage.TRAINING), of(view(*READY[:2], replace(READY[2], node="c")), 3, refused=True), RULES)
    assert lost.ended
    assert (lost.ended.node, lost.ended.lost, lost.ended.code) == ("c", True, Code.GANG)


def test_a_stop_is_nobody_s_failure_and_nor_is_what_has_no_place() -> None:
    assert lead(said(Stage.TRAINING), view(READY[0], STOPPED, READY[2]), RULES).ended is None
    assert lead(said(Stage.TRAINING), view(SERVED[0], WAITS, READY[2]), RULES).ended is None
    assert lead(Lead(), view(), RULES).ended is None


def test_the_loss_of_a_leader_is_noted_by_the_next_one() -> None:
    last = gang(4, who(7), who(2), who(3))
    seen = view(status(2, known=4), record=Recorded(highest=4, latest=last))
    seen = replace(seen, heard={**seen.heard, "10.0.0.7": heard(status(7, node="c"), refused=True)})
    ended = lead(Lead(), seen, RULES).ended
    assert ended
    assert (ended.generation, ended.node, ended.lost) == (4, "c", True)


@pytest.mark.parametrize(
    ("nodes", "earlier", "said_of_it"),
    [
        (("a", "b", "a"), ("b", "b", "a", "b"), "; b: 4 of the last 5 failures (submit -avoid b)"),
        (("a", "b", "a"), ("b", "a", "b", "a"), "; b: 3 of the last 5 failures (submit -avoid b)"),
        (("a", "b", "a"), ("b", "b"), "; b: 3 of the last 3 failures (submit -avoid b)"),
        (("a", "b", "a"), ("b", "a", "c"), ""),
        (("a", "b", "a"), ("a", "a", "a", "c"), "; a: 3 of the last 5 failures (submit -avoid a)"),
        (("b", "b", "b"), ("b", "b", "b", "b"), ""),
        (("b", "b", "b"), ("b", "b", "b", "a"), "; b: 4 of the last 5 failures (submit -avoid b)"),
        (("", "", ""), ("", "", ""), ""),
    ],
    ids=[
        "most",
        "just most",
        "few, and all",
        "no node has most",
        "another node",
        "all is on one",
        "all by now",
        "unknown",
    ],
)
def test_a_verdict_says_which_node_has_most_of_the_last_failures(
    nodes: tuple[str, ...], earlier: tuple[str, ...], said_of_it: str
) -> None:
    seen = replace(on_nodes(*nodes), record=Recorded(failures=tuple(map(on, earlier))))
    sealing = lead(said(Stage.TRAINING), seen, replace(RULES, restarts=0)).sealing
    assert sealing
    assert sealing.reason == f"it failed{said_of_it}"


def test_a_failure_that_is_in_the_record_already_counts_once() -> None:
    """The record may have it before the verdict is sought, or another leader has noted it."""
    known = (on("b"), on("a"), on("b", generation=1, run=""))
    seen = replace(on_nodes("a", "b", "a"), record=Recorded(failures=known))
    sealing = lead(said(Stage.TRAINING), seen, replace(RULES, restarts=0)).sealing
    assert sealing
    assert sealing.reason == "it failed"


def test_before_the_first_generation_no_node_is_blamed() -> None:
    seen = replace(failing(7, generation=0), record=Recorded(failures=(on("b"),) * 5))
    sealing = lead(Lead(), seen, RULES).sealing
    assert sealing
    assert sealing.reason == "it failed"
