"""The model sees what is wrong: each row breaks one rule of the launcher in place, and some history must show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from launcher.pod.gang.protocol import barriers, budget, follower, gathering, leader, lease, looks, member, trust
from launcher.pod.gang.protocol.barriers import REMEMBERED
from launcher.pod.gang.protocol.follower import Orders
from launcher.pod.gang.protocol.looks import Looks
from launcher.pod.gang.protocol.member import Member
from launcher.pod.gang.protocol.messages import Failure, Generation, LeaderMessage, Status, Who
from launcher.pod.gang.protocol.state import View
from launcher.pod.gang.store import succession
from launcher.pod.gang.store.succession import Predecessor, Stillness
from launcher.pod.programs import policy
from tests.support.gang_world.checks import Broken
from tests.support.gang_world.faults import Fault, play
from tests.support.gang_world.world import World

MOST = 60  # histories in which a broken rule has shown itself
MOMENTS = (4.0, 1.2, 7.9, 1.35, 2.5, 1.5, 9.0)  # in training, while it begins, at its end
# How a trainer is doomed (`faults.doom`): in one pass always or twice, its pod lost in one, in each pass once.
IN_ONE_PASS, TWICE_IN_A_PASS, LOST_IN_A_PASS, AT_EACH_PASS = (tuple(range(how, 24, 4)) for how in range(4))
Story = tuple[tuple[str, int, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """A rule that is broken, and how; `story` is in which faults it matters, and `shows` what is said then.

    Of each fault the story says to whom it happens, and when: seconds after the first. `details` are those to try.
    """

    what: str
    where: object
    name: str
    rule: object
    story: Story
    shows: str
    details: tuple[int, ...] = tuple(range(24))
    elastic: bool = False  # in gangs that may be narrower, whose programs ask whether all ends soon
    named: bool = False  # in gangs that are not told the UIDs of pods


def losses_count(last: Generation, cause: Failure, reached: int) -> tuple[str, int]:
    again = cause.proof == last.failing and reached <= last.reached
    return cause.proof, last.failed + 1 if again else 1


def passes_do_not_count(last: Generation, cause: Failure, _: int) -> tuple[str, int]:
    again = cause.proof == last.failing
    return (cause.proof, last.failed + 1 if again else 1) if cause.proof else (last.failing, last.failed)


def never_reset(before: Stillness, seen: Predecessor | None, now: float) -> Stillness:
    return Stillness(seen=seen, since=before.since or now)


def ending_all(
    seen: Looks,
    word: LeaderMessage,
    view: View,  # noqa: ARG001  # the shape of the rule
    members: list[Status],  # noqa: ARG001
) -> tuple[object, ...]:
    ending = Failure(generation=word.number, code=1, reason=seen.alarms[0][1].reason)
    return replace(seen, since=None, alarms=()), word, ending


DEFECTS = [
    Defect(
        what="the end of the lease waits for a grace that runs",
        where=policy,
        name="_killing",
        rule=lambda instructions: False,
        story=(("alone", 1, 0.0), ("delete", 1, 0.5)),
        shows="two generations run",
    ),
    Defect(
        what="a verdict that was read in the record has all of its grace, without a lease",
        where=follower,
        name="_over",
        rule=lambda verdict, leader, view, rules: Orders(ready=view.mine.ready, verdict=verdict),
        story=(("apply", 0, 0.0),),
        shows="two generations run",
    ),
    Defect(
        what="a child's failure is nobody's",
        where=policy,
        name="may_have_failed",
        rule=lambda child: False,
        story=(("fail", 0, 0.0),),
        shows="stuck",
    ),
    Defect(
        what="what was told to end may go on: nothing is killed at the end of its grace",
        where=policy,
        name="_given_up",
        rule=lambda child, now: child.told is not None,
        story=(("fail", 0, 0.0),),
        shows="two generations run",
    ),
    Defect(
        what="a run begins beside the one before it",
        where=succession,
        name="held",
        rule=lambda known, now: "",
        story=(("apply", 0, 0.0),),
        shows="two generations run",
    ),
    Defect(
        what="a counter that moves is not seen to move",
        where=succession,
        name="still",
        rule=never_reset,
        story=(("apply", 0, 0.0),),
        shows="two generations run",
    ),
    Defect(
        what="a verdict of failure is taken for the end of a run's programs",
        where=succession,
        name="is_over",
        rule=lambda begun, rest, verdict: rest >= begun or verdict is not None,
        story=(("fail", 0, 0.0), ("apply", 0, 1.0)),
        shows="two generations run",
        details=(7, 15, 23),  # its data is bad, and nobody is told of the new run
    ),
    Defect(
        what="a leader says that all rest as soon as its own programs have ended",
        where=Member,
        name="rested",
        rule=property(lambda self: self.last.number if self.led and not self.status.children else 0),
        story=(("apply", 0, 0.0),),
        shows="two generations run",
    ),
    Defect(
        what="whoever answers at a leader's address renews the lease",
        where=member,
        name="leased",
        rule=lambda members, renewed, view: view,
        story=(("delete", 2, 0.0), ("crash", 0, 4.0)),
        shows="two generations run",
    ),
    Defect(
        what="whoever has a lost leader's address is taken for that leader",
        where=lease,
        name="_passed_over",
        rule=lambda leader, last, view: False,
        story=(("delete", 2, 0.0), ("vanish", 0, 0.05)),
        shows="two generations run",
    ),
    Defect(
        what="what cannot be waited for is waited for",
        where=leader,
        name="deadlocked",
        rule=lambda trainers, word: "",
        story=(("err", 0, 0.0),),
        shows="stuck",
    ),
    Defect(
        what="who works comes nowhere",
        where=leader,
        name="deadlocked",
        rule=lambda trainers, word: "".join(f"trainer {each.rank} waits " for each in trainers if each.waits)[:16],
        story=(("slow", 0, 0.0),),
        shows="a sound wait",
    ),
    Defect(
        what="one trainer passes a barrier for all",
        where=barriers,
        name="_passed",
        rule=lambda standing, before: tuple(sorted(set().union(before, *standing)))[-REMEMBERED:],
        story=(("slow", 0, 0.0),),
        shows="is passed without",
    ),
    Defect(
        what="who takes its order anew while the others get ready does not look again",
        where=Member,
        name="calm",
        rule=property(lambda self: self.word is not None and self.word.calm),
        story=(("flap", 1, 0.0),),
        shows="stuck",
    ),
    Defect(
        what="what is only to be told ends the generation",
        where=looks,
        name="_concluded",
        rule=ending_all,
        story=(("alarm", 1, 0.0),),
        shows="what was only to be told ends a generation",
    ),
    Defect(
        what="a stranger is believed",
        where=trust,
        name="stranger",
        rule=lambda status, mine: "",
        story=(("stranger", 1, 0.0),),
        shows="a stranger's word",
    ),
    Defect(
        what="no restart is given back",
        where=budget,
        name="spent_by",
        rule=lambda last, reached: last.spent,
        story=(("doom", 0, 0.0),),
        shows="restarts are spent",
        details=AT_EACH_PASS,
    ),
    Defect(
        what="a pass gives all restarts back",
        where=budget,
        name="spent_by",
        rule=lambda last, reached: 0 if reached > last.reached else last.spent,
        story=(("doom", 0, 0.0), ("fail", 1, 9.0)),
        shows="restarts are spent",
        details=TWICE_IN_A_PASS,
    ),
    Defect(
        what="a loss is taken for a program's own failure",
        where=budget,
        name="_failures_alike",
        rule=losses_count,
        story=(("doom", 0, 0.0),),
        shows="no such failures",
        details=LOST_IN_A_PASS,
    ),
    Defect(
        what="a program that fails alike after each pass is taken for one that comes nowhere",
        where=budget,
        name="_failures_alike",
        rule=passes_do_not_count,
        story=(("doom", 0, 0.0),),
        shows="no such failures",
        details=AT_EACH_PASS,
    ),
    Defect(
        what="a program that fails alike for ever is started for ever",
        where=gathering,
        name="hopeless",
        rule=lambda cause, after: None,
        story=(("doom", 0, 0.0),),
        shows="a start that would not help",
        details=IN_ONE_PASS,
    ),
    Defect(
        what="trainers are told that all ends soon as each hears of it",
        where=leader,
        name="call_agreed",
        rule=lambda leaving, marks: replace(leaving, call=max(1, *(each.leave or 0 for each in marks))),
        story=(("leave", 2, 0.0),),
        shows="leave at calls",
        elastic=True,
    ),
    Defect(
        what="a pod whose UID is not known is taken for any other",
        where=Who,
        name="pod",
        rule=property(lambda self: self.uid),
        story=(("rack", 0, 0.0),),
        shows="two generations run",
        named=True,
    ),
]


def histories(
    story: Story, details: tuple[int, ...], most: int, *, elastic: bool, named: bool
) -> Iterator[tuple[World, list[Fault]]]:
    """Return the story in ever other worlds, at ever other moments."""
    for number in range(most):
        first = MOMENTS[number % len(MOMENTS)]
        detail = details[number * 5 % len(details)]
        yield (
            World(size=3, least=2, seed=number, eager=True, asks=True)
            if elastic
            else World(size=3 - number % 2, seed=number, stubborn=True, eager=True, talks=True, named=named),
            [Fault(at=first + at, what=what, slot=slot, span=14.0, detail=detail) for what, slot, at in story],
        )


def found(
    story: Story, details: tuple[int, ...], most: int = MOST, *, elastic: bool = False, named: bool = False
) -> str:
    """Return what the model says of the first history that breaks a rule, or nothing."""
    for world, history in histories(story, details, most, elastic=elastic, named=named):
        try:
            play(world, history)
        except Broken as broken:
            return str(broken)
    return ""


@pytest.mark.parametrize("defect", DEFECTS, ids=[each.what for each in DEFECTS])
def test_a_broken_rule_is_found(defect: Defect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defect.where, defect.name, defect.rule)
    said = found(defect.story, defect.details, elastic=defect.elastic, named=defect.named)
    assert defect.shows in (said or "nothing was found")


STORIES = sorted({(defect.story, defect.details, defect.elastic, defect.named) for defect in DEFECTS})


@pytest.mark.parametrize(
    ("story", "details", "elastic", "named"),
    STORIES,
    ids=["-".join(what for what, *_ in story) for story, *_ in STORIES],
)
def test_nothing_is_found_where_no_rule_is_broken(
    story: Story, details: tuple[int, ...], elastic: bool, named: bool
) -> None:
    assert found(story, details, most=8, elastic=elastic, named=named) == ""
