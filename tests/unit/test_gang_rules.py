"""One row a rule: what leader and members say and do, by what they know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from launcher.pod.gang import fencing
from launcher.pod.gang.fencing import Fence
from launcher.pod.gang.following import Orders, Run, follow
from launcher.pod.gang.leading import SEALING, Lead, lead
from launcher.pod.gang.missing import absent, deserted
from launcher.pod.gang.words import (
    Failure,
    Generation,
    Heard,
    Limits,
    Recorded,
    Rules,
    Stage,
    Status,
    Verdict,
    View,
    Who,
    Word,
)
from launcher.pod.outcome import Code
from launcher.pod.settings import Role

Fenced = Callable[[Generation, Fence, View, Limits], Fence]
NOW = 1000.0
LIMITS = Limits(lost=15.0, lease=10.0, wait=3.0, gather=600.0, regather=900.0)
RULES = Rules(limits=LIMITS, restarts=3, grace=2.5)


def who(number: int, boot: str = "1") -> Who:
    return Who(role=Role.NODE, address=f"10.0.0.{number}", uid=f"pod{number}", boot=f"{number}.{boot}")


def gang(number: int = 1, *members: Who, **facts: object) -> Generation:
    members = members or (who(1), who(2), who(3))
    return replace(Generation(number=number, members=members, digest="order"), **facts)  # type: ignore[arg-type]


def status(number: int, **facts: object) -> Status:
    standing = Status(who=who(number), digest="order", staged=True, lone=True, passes=(0, 1))
    return replace(standing, **facts)  # type: ignore[arg-type]


def heard(known: Status, **facts: object) -> Heard:
    return replace(Heard(status=known, sent=NOW - 1, wrote=NOW - 1), **facts)  # type: ignore[arg-type]


def view(*statuses: Status, mine: int = 1, **facts: object) -> View:
    """Return what the member of that number knows of a gang of three, all well unless other statuses are given."""
    known = {number: status(number) for number in (1, 2, 3)}
    known |= {int(each.who.address.rpartition(".")[2]): each for each in statuses}
    others = {each.who.address: heard(each) for number, each in known.items() if number != mine}
    order = tuple(who(number).address for number in (1, 2, 3))
    return replace(View(now=NOW, mine=known[mine], order=order, heard=others), **facts)  # type: ignore[arg-type]


def of(seen: View, number: int, **facts: object) -> View:
    """Return the same with something else heard of a member."""
    address = who(number).address
    return replace(seen, heard={**seen.heard, address: replace(seen.of(address), **facts)})  # type: ignore[arg-type]


READY = tuple(status(number, ready=1, known=1, children=1, serving=1) for number in (1, 2, 3))
BORN_AGAIN = status(2, who=who(2, boot="2"))

ABSENT = [
    ("there with its data, at rest: nothing is missing", view(), ""),
    ("nothing was heard yet", of(view(), 2, status=None), "has not answered yet"),
    ("silent for the lease, so it would be lost at once", of(view(), 2, sent=NOW - 11), "does not answer"),
    ("it never asked, so it would be lost at once", of(view(), 2, wrote=0.0), "does not ask"),
    ("nobody listens there", of(view(), 2, refused=True), "does not answer"),
    ("told to stop", view(status(2, stopping=True)), "was told to stop"),
    ("it sees another gang", view(status(2, digest="other")), "sees others"),
    ("no data yet", view(status(2, staged=False)), "is staging"),
    ("its children still run", view(status(2, children=1)), "is ending"),
    ("somebody that it knows of may still run", view(status(2, quiet=False)), "can still be running"),
]


@pytest.mark.parametrize(("seen", "why"), [row[1:] for row in ABSENT], ids=[row[0] for row in ABSENT])
def test_a_new_generation_needs_every_member(seen: View, why: str) -> None:
    found = absent(who(2).address, seen, RULES)
    assert why in found
    assert bool(why) == bool(found)


TRAINING = Word(stage=Stage.TRAINING, generation=gang())
READYING = Word(stage=Stage.READYING, generation=gang())
DESERTED = [
    ("ready and answering: it is with us", view(*READY), TRAINING, ""),
    ("another process in the same pod", view(BORN_AGAIN), TRAINING, "was started again"),
    ("told to stop", view(status(2, ready=1, known=1, stopping=True)), TRAINING, "was told to stop"),
    ("nobody listens there", of(view(*READY), 2, refused=True), TRAINING, "is gone"),
    ("silent for the lease", of(view(*READY), 2, sent=NOW - 10.1), TRAINING, "has not answered"),
    ("it has not asked, and its children are dead", of(view(*READY), 2, wrote=NOW - 15.1), TRAINING, "has not asked"),
    ("it takes part in a later generation", view(status(2, ready=2, known=2)), TRAINING, "follows another leader"),
    ("it left this generation", view(status(2, known=1)), TRAINING, "gave up"),
    ("it is not ready yet", view(), READYING, ""),
    ("it was ready, and left before the start", view(status(2, known=1)), READYING, "gave up"),
]


@pytest.mark.parametrize(("seen", "word", "why"), [row[1:] for row in DESERTED], ids=[row[0] for row in DESERTED])
def test_a_generation_under_way_needs_every_member(seen: View, word: Word, why: str) -> None:
    found = deserted(who(2), word, seen, RULES)
    assert why in found
    assert bool(why) == bool(found)


def led(word: Word | None, *, mine: Status = READY[1], **facts: object) -> View:
    """Return what member 2 knows when its leader says that."""
    seen = view(status(1, ready=1, known=1, word=word), mine, mine=2)
    return replace(seen, **facts)  # type: ignore[arg-type]


LEASE = NOW - 1 + LIMITS.lease
IDLE = status(2)
OVER = Verdict(code=7, reason="it failed")
FOLLOWING = [
    ("a generation that it is in and able to join", led(READYING, mine=IDLE), Orders(ready=1)),
    ("never one of the past", led(READYING, mine=status(2, known=1)), Orders()),
    ("not without its data", led(READYING, mine=status(2, staged=False)), Orders()),
    ("not while anybody may still run", led(READYING, mine=status(2, quiet=False)), Orders()),
    ("not with another order", led(READYING, mine=status(2, digest="other")), Orders()),
    ("not in the place of an earlier process", led(READYING, mine=BORN_AGAIN), Orders()),
    ("not from a pass that it does not see", led(replace(READYING, generation=gang(resume=5)), mine=IDLE), Orders()),
    ("not when told to stop", led(READYING, mine=status(2, stopping=True)), Orders()),
    ("ready, and nothing runs before all are", led(READYING), Orders(ready=1, until=LEASE)),
    (
        "pservers first",
        led(Word(stage=Stage.SERVING, generation=gang())),
        Orders(ready=1, run=Run.PSERVERS, until=LEASE),
    ),
    ("then trainers", led(TRAINING), Orders(ready=1, run=Run.ALL, until=LEASE)),
    ("a verdict ends all", led(replace(TRAINING, verdict=OVER)), Orders(ready=1, verdict=OVER)),
    ("so does one in the record", led(TRAINING, record=Recorded(sealed=OVER)), Orders(ready=1, verdict=OVER)),
    (
        "so does that of a leader which nobody follows any more",
        replace(led(replace(TRAINING, verdict=OVER), mine=IDLE), order=()),
        Orders(verdict=OVER),
    ),
]


@pytest.mark.parametrize(("seen", "orders"), [row[1:] for row in FOLLOWING], ids=[row[0] for row in FOLLOWING])
def test_a_member_follows_its_leader(seen: View, orders: Orders) -> None:
    assert follow(seen, RULES) == orders


ENDED = Word(generation=gang(), cause=Failure(generation=1, code=7, reason="a child ended with 7"))
LEADING = view(status(1, ready=1, known=1, word=TRAINING), *READY[1:])
ENDS = [
    ("the leader ended it", led(ENDED), "a child ended with 7", False),
    ("the leader is silent for the lease", of(led(TRAINING), 1, sent=NOW - 10), "has not answered in time", True),
    ("the leader's process is gone", of(led(TRAINING), 1, refused=True), "is gone", False),
    ("another process leads in its place", led(None), "was started again", False),
    ("the leader is in another generation", led(Word(generation=gang(2))), "was started again", False),
    (
        "a member is silent for the leader's own lease",
        of(LEADING, 3, sent=NOW - 10),
        "has not answered in time",
        True,
    ),
    (
        "the leader has been overtaken",
        view(status(1, ready=1, known=1, word=ENDED), *READY[1:], record=Recorded(highest=2)),
        "a child ended with 7",
        True,
    ),
]


@pytest.mark.parametrize(("seen", "why", "kill"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS])
def test_a_generation_ends_with_or_without_grace(seen: View, why: str, kill: bool) -> None:
    end = follow(seen, RULES).end
    assert end
    assert why in end.reason
    assert end.kill == kill


ACCOUNTED = [
    ("it says so", heard(status(2)), True),
    ("it says that it has children", heard(status(2, children=1)), False),
    ("it may start some", heard(status(2, ready=1)), False),
    ("process 1 is gone, and with it all others", heard(status(2, ready=1), refused=True), True),
    ("its process is gone, its children perhaps not", heard(status(2, ready=1, lone=False), refused=True), False),
    ("another process 1 is in its place", heard(BORN_AGAIN), True),
    ("another process, not the first, is in its place", heard(replace(BORN_AGAIN, lone=False)), False),
    ("another pod has its address", heard(status(2, who=replace(who(2), uid="new", boot="b"), lone=False)), True),
    ("it was never heard of", Heard(), False),
]


@pytest.mark.parametrize(("known", "so"), [row[1:] for row in ACCOUNTED], ids=[row[0] for row in ACCOUNTED])
def test_a_member_accounts_for_its_children(known: Heard, so: bool) -> None:
    assert fencing.accounted(who(2), known) == so


SILENT = of(view(READY[2]), 3, sent=NOW - 12, wrote=NOW - 12)
ORPHAN = view(status(1, ready=1, known=1), mine=2)
FENCES = [
    ("the leader: all say that nothing runs", fencing.leaders, view(), NOW),
    ("the leader: a member is silent, its lease may not be", fencing.leaders, SILENT, NOW + 3),
    ("a member: its leader is there, and in the order", fencing.members, ORPHAN, NOW),
    ("a member: its leader is there, and nobody's any more", fencing.members, replace(ORPHAN, order=()), NOW + 10),
    ("a member: such a leader has all at rest", fencing.members, replace(view(mine=2), order=()), NOW),
    (
        "a member: its leader is silent, and the others may hang on it",
        fencing.members,
        of(ORPHAN, 1, sent=NOW - 12, wrote=NOW - 12),
        NOW + 13,
    ),
    ("a member: process 1 is gone, the others may not know", fencing.members, of(ORPHAN, 1, refused=True), NOW + 10),
]


@pytest.mark.parametrize(("fence", "seen", "until"), [row[1:] for row in FENCES], ids=[row[0] for row in FENCES])
def test_nobody_of_the_last_generation_runs_from_then_on(fence: Fenced, seen: View, until: float) -> None:
    assert max(NOW, fence(gang(), Fence(), seen, LIMITS).until) == until


def said(stage: Stage, **facts: object) -> Lead:
    return replace(Lead(word=Word(stage=stage, generation=gang()), since=NOW), **facts)  # type: ignore[arg-type]


def failing(code: int, generation: int = 1) -> View:
    failed = Failure(generation=generation, code=code, reason="it failed")
    return view(status(2, ready=generation, known=generation, failure=failed), READY[0], READY[2])


SERVED = tuple(replace(each, trained=1) for each in READY)
RAN = Lead(word=ENDED)
SPENT = Lead(word=replace(ENDED, generation=gang(restarts=3)))
LEADS = [
    ("all are there: a generation is asked for, not begun", Lead(), view(), Stage.GATHERING, "asked"),
    ("it is made", Lead(asked=gang()), view(record=Recorded(made=1)), Stage.READYING, ""),
    ("made for a gang that has changed", Lead(asked=gang(digest="old")), view(), Stage.GATHERING, ""),
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
    other = Verdict(code=0, reason="every trainer is done")
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
