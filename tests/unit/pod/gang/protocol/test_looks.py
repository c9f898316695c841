"""What a leader does about alarms: it looks first, then it says who is the cause, and ends what is to end."""

from __future__ import annotations

from dataclasses import replace

from launcher.pod.gang.protocol.leader import due_again, lead
from launcher.pod.gang.protocol.leader_state import Lead
from launcher.pod.gang.protocol.looks import FRESH, LOOKING, OF_LATE
from launcher.pod.gang.protocol.messages import Alarm, Failure, Marks, Pace, StackDigest, Stage, Status, Trouble
from launcher.pod.gang.protocol.state import View
from launcher.pod.settings.nouns import Role
from tests.support.gang_world.views import NOW, READY, RULES, TRAINING, of, view

STOOD = "trainer 0 stood still for 5 s"
BEGUN = Lead(word=TRAINING, since=NOW)


def alarming(status: Status, kind: Trouble = Trouble.STALLED, code: int = 134, number: int = 1) -> Status:
    alarm = Alarm(number=number, generation=1, kind=kind, rank=0, reason=STOOD, code=code)
    return replace(status, alarms=(*status.alarms, alarm))


def looking(status: Status, rank: int, where: str, *, waits: bool, look: int = 1) -> Status:
    stack = StackDigest(role=Role.TRAINER, rank=rank, digest=where, waits=waits, where=where)
    return replace(status, looked=look, standing=(stack,), node=f"node-{rank}")


ALARMED = (alarming(READY[0]), READY[1], READY[2])
LOOKED = (
    looking(ALARMED[0], 0, "get at a.py:1", waits=True),
    looking(READY[1], 1, "get at a.py:1", waits=True),
    looking(READY[2], 2, "read at b.py:2", waits=False),
)


def after(*views: View, before: Lead = BEGUN) -> Lead:
    for each in views:
        before = lead(before, each, RULES)
    return before


def test_an_alarm_makes_all_take_their_stacks_and_ends_nothing_yet() -> None:
    found = after(view(*ALARMED))
    assert (found.word.look, found.word.stage, found.word.found) == (1, Stage.TRAINING, ())
    assert due_again(found, view(*ALARMED), RULES) == NOW + LOOKING
    assert after(view(*ALARMED), view(*ALARMED)).word == found.word


def test_once_all_have_looked_who_differs_is_the_cause() -> None:
    found = after(view(*ALARMED), view(*LOOKED))
    cause = found.word.cause
    assert cause is not None
    assert (found.word.stage, cause.code, cause.address) == (Stage.GATHERING, 134, READY[2].who.address)
    assert cause.reason == f"trainer 2 on node-2 is what the 2 others wait for; {STOOD}, on {ALARMED[0].who.address}"
    assert (
        cause.tail
        == "where the programs stood:\ntrainer 2 on node-2: read at b.py:2\n2 trainers (0, 1): get at a.py:1"
    )


def test_of_two_that_the_third_waits_for_neither_gave_the_alarm_and_both_are_named_first() -> None:
    two = (LOOKED[0], looking(READY[1], 1, "flock at b.py:1", waits=False), LOOKED[2])
    cause = after(view(*ALARMED), view(*two)).word.cause
    assert cause is not None
    assert cause.reason.startswith("trainers 1, 2 are what the other waits for; trainer 0 stood still")


def test_a_pserver_that_differs_is_named_first_though_a_trainer_of_its_number_gave_the_alarm() -> None:
    def serving(status: Status, rank: int, where: str) -> Status:
        trainer = StackDigest(role=Role.TRAINER, rank=rank, digest="ask", where="recv at a.py:3")
        pserver = StackDigest(role=Role.PSERVER, rank=rank, digest=where, where=where)
        return replace(status, looked=1, standing=(pserver, trainer), node=f"node-{rank}")

    told = [
        serving(status, rank, f"{'sleep' if rank == 0 else 'select'} at s.py:1")
        for rank, status in enumerate(ALARMED)
    ]
    found = after(view(*ALARMED), view(*told)).word
    assert found.cause is not None
    assert found.cause.reason.startswith("all 3 trainers stand at the same place; pserver 0 on node-0 is at another")
    assert [(each.rank, each.node) for each in found.found] == [(None, "node-0")]


def test_who_does_not_look_is_waited_for_no_longer_than_the_patience() -> None:
    two = view(*LOOKED[:2], READY[2])
    assert after(view(*ALARMED), two).word.stage is Stage.TRAINING
    late = after(view(*ALARMED), replace(two, now=NOW + LOOKING)).word.cause
    assert late is not None
    assert late.reason.startswith(STOOD)


def test_an_alarm_without_a_code_is_told_and_the_training_goes_on() -> None:
    told = tuple(replace(each, alarms=tuple(replace(alarm, code=0) for alarm in each.alarms)) for each in LOOKED)
    found = after(view(*told), view(*told))
    assert found.word.stage is Stage.TRAINING
    [alarm] = found.word.found
    assert (alarm.kind, alarm.rank, alarm.node) == (Trouble.STALLED, 2, "node-2")
    again = after(view(*told), before=found)
    assert (again.word.look, again.word.found) == (1, found.word.found)


def test_a_later_alarm_of_the_same_launcher_makes_another_look() -> None:
    told = tuple(replace(each, alarms=tuple(replace(alarm, code=0) for alarm in each.alarms)) for each in LOOKED)
    more = (alarming(told[0], Trouble.NO_STEP, code=0, number=2), *told[1:])
    assert after(view(*told), view(*told), view(*more)).word.look == 2


def test_a_second_wait_in_vain_just_after_a_look_is_explained_by_it_and_makes_no_other() -> None:
    told = tuple(replace(each, alarms=()) for each in LOOKED)
    first = (alarming(told[0], Trouble.TIMED_OUT, code=0), *told[1:])
    both = (first[0], alarming(told[1], Trouble.TIMED_OUT, code=0), told[2])
    found = after(view(*first), view(*first), view(*both, now=NOW + 1.0))
    assert found.word.look == 1
    assert [each.rank for each in found.word.found] == [2, 2]
    assert after(view(*first), view(*first), view(*both, now=NOW + OF_LATE)).word.look == 2


def test_what_is_no_number_is_told_at_once_without_a_look_and_ends_only_where_asked() -> None:
    told = after(view(alarming(READY[0], Trouble.NOT_A_NUMBER, code=0), *READY[1:]))
    assert (told.word.look, told.word.stage, len(told.word.found)) == (0, Stage.TRAINING, 1)
    ended = after(view(alarming(READY[0], Trouble.NOT_A_NUMBER, code=65), *READY[1:]))
    assert ended.sealing is not None
    assert (ended.sealing.code, ended.sealing.reason) == (65, f"{STOOD}, on {READY[0].who.address}")


def test_the_desk_may_ask_for_a_look() -> None:
    asked = replace(view(*READY), wanted=1)
    found = after(asked)
    assert found.word.look == 1
    looked = tuple(replace(each, looked=1) for each in READY)
    done = after(replace(view(*looked), wanted=1), before=found)
    assert (done.word.look, done.word.found, done.looks.due) == (1, (), None)
    assert after(replace(view(*looked), wanted=2), before=done).word.look == 2


def test_a_failure_soon_after_a_look_is_explained_by_it() -> None:
    told = tuple(replace(each, alarms=tuple(replace(alarm, code=0) for alarm in each.alarms)) for each in LOOKED)
    found = after(view(*told), view(*told))
    failure = Failure(generation=1, code=1, reason="trainer 0 exited with 1", address=READY[0].who.address)
    failed = view(replace(told[0], failure=failure), *told[1:])
    soon, late = (after(replace(failed, now=NOW + delay), before=found).word.cause for delay in (1, FRESH + 1))
    assert soon is not None
    assert late is not None
    assert soon.reason == "trainer 0 exited with 1; trainer 2 on node-2 is what the 2 others wait for"
    assert late.reason == "trainer 0 exited with 1"


def test_alarms_of_another_generation_or_boot_are_not_heard() -> None:
    other = alarming(replace(READY[0], ready=2))
    assert after(view(other, *READY[1:])).word.look == 0
    born_again = replace(READY[1], who=replace(READY[1].who, boot="another"))
    assert after(view(READY[0], alarming(born_again), READY[2])).word.look == 0


def test_who_is_slow_for_long_is_told_with_its_node_and_nothing_follows() -> None:
    found = BEGUN
    for window in range(8):
        now = NOW + 10 * window
        steps = (Pace(steps=10 * window, busy=busy * window) for busy in (2.0, 2.1, 4.5))
        paced = [replace(each, marks=Marks(pace=pace)) for each, pace in zip(READY, steps, strict=True)]
        seen = replace(view(*paced[:2], replace(paced[2], node="node-c")), now=now)
        for number in (2, 3):
            seen = of(seen, number, sent=now, wrote=now)
        found = after(seen, before=found)
    [slow] = found.word.found
    assert (slow.kind, slow.rank, slow.node) == (Trouble.SLOW, 2, "node-c")
    assert (found.word.stage, found.word.look) == (Stage.TRAINING, 0)
