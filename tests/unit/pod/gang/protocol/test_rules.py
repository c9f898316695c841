"""One row a rule: who is missing, what a member does, until when somebody may still run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from launcher.pod.gang.protocol import lease
from launcher.pod.gang.protocol.follower import MayRun, Orders, follow
from launcher.pod.gang.protocol.lease import Fence
from launcher.pod.gang.protocol.member import Member
from launcher.pod.gang.protocol.messages import Generation, LeaderMessage, Stage, Status
from launcher.pod.gang.protocol.reasons import deserted, lacking, unmet
from launcher.pod.gang.protocol.state import Heard, Limits, Recorded, View
from tests.support.gang_world.views import (
    BORN_AGAIN,
    ENDED,
    LIMITS,
    NOW,
    OVER,
    READY,
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

Fenced = Callable[[Generation, Fence, View, Limits], Fence]

ABSENT = [
    ("there with its data, at rest: nothing is missing", view(), ""),
    ("nothing was heard yet", of(view(), 2, status=None), "has not answered yet"),
    ("silent for the lease, so it would be lost at once", of(view(), 2, sent=NOW - 11), "does not answer"),
    ("it never asked, so it would be lost at once", of(view(), 2, wrote=0.0), "does not poll the leader"),
    ("nobody listens there", of(view(), 2, refused=True), "does not answer"),
    ("told to stop", view(status(2, stopping=True)), "was told to stop"),
    ("it sees another gang", view(status(2, digest="other")), "sees other pods"),
    ("no data yet", view(status(2, staged=False)), "is staging"),
    ("the passes not seen yet", view(status(2, surveyed=False)), "complete passes"),
    ("its children still run", view(status(2, children=1)), "is ending"),
    ("somebody that it knows of may still run", view(status(2, quiet=False)), "can still run"),
    (
        "an earlier run of the name is not over: nobody looks at the passes yet",
        replace(view(status(1, surveyed=False)), record=Recorded(held="run 1 of this name may still be running")),
        "run 1 of this name",
    ),
    (
        "who is not there is named before it",
        replace(of(view(), 2, status=None), record=Recorded(held="run 1 of this name may still be running")),
        "10.0.0.2 has not answered yet",
    ),
    (
        "who looks at the passes waits for all others itself",
        of(view(status(1, surveyed=False)), 2, status=None),
        "10.0.0.2 has not answered yet",
    ),
]


@pytest.mark.parametrize(("seen", "why"), [row[1:] for row in ABSENT], ids=[row[0] for row in ABSENT])
def test_a_new_generation_needs_every_member(seen: View, why: str) -> None:
    found = unmet(seen, RULES)
    assert why in found
    assert bool(why) == bool(found)


DESERTED = [
    ("ready and answering: it is with us", view(*READY), TRAINING, ""),
    ("another process in the same pod", view(BORN_AGAIN), TRAINING, "was started again"),
    ("told to stop", view(status(2, ready=1, known=1, stopping=True)), TRAINING, "was told to stop"),
    ("nobody listens there", of(view(*READY), 2, refused=True), TRAINING, "is gone"),
    ("silent for the lease", of(view(*READY), 2, sent=NOW - 10.1), TRAINING, "has not answered"),
    (
        "it has not asked, and its children are dead",
        of(view(*READY), 2, wrote=NOW - 15.1),
        TRAINING,
        "has not polled the leader",
    ),
    ("it takes part in a later generation", view(status(2, ready=2, known=2)), TRAINING, "follows another leader"),
    (
        "it is ready for another leader's generation of this number",
        view(replace(READY[1], digest="another order")),
        READYING,
        "follows another leader",
    ),
    ("it left this generation", view(status(2, known=1)), TRAINING, "left the generation"),
    ("it is not ready yet", view(), READYING, ""),
    ("it was ready, and left before the start", view(status(2, known=1)), READYING, "left the generation"),
]


@pytest.mark.parametrize(("seen", "word", "why"), [row[1:] for row in DESERTED], ids=[row[0] for row in DESERTED])
def test_a_generation_under_way_needs_every_member(seen: View, word: LeaderMessage, why: str) -> None:
    found = deserted(who(2), word, seen, RULES)
    assert why in found
    assert bool(why) == bool(found)


def led(word: LeaderMessage | None, *, mine: Status = READY[1], **facts: object) -> View:
    """Return what member 2 knows when its leader says that."""
    seen = view(status(1, ready=1, known=1, word=word), mine, mine=2)
    return replace(seen, **facts)  # type: ignore[arg-type]


LEASE = NOW - 1 + LIMITS.lease
IDLE = status(2)
FOLLOWING = [
    ("a generation that it is in and able to join", led(READYING, mine=IDLE), Orders(ready=1)),
    ("never one of the past", led(READYING, mine=status(2, known=1)), Orders()),
    ("not before it saw the passes", led(READYING, mine=status(2, surveyed=False)), Orders()),
    ("not while anybody may still run", led(READYING, mine=status(2, quiet=False)), Orders()),
    ("not with another order", led(READYING, mine=status(2, digest="other")), Orders()),
    ("not in the place of an earlier process", led(READYING, mine=BORN_AGAIN), Orders()),
    ("not from a pass that it does not see", led(replace(READYING, generation=gang(resume=5)), mine=IDLE), Orders()),
    ("not when told to stop", led(READYING, mine=status(2, stopping=True)), Orders()),
    ("ready, and nothing runs before all are", led(READYING), Orders(ready=1, until=LEASE)),
    (
        "pservers first",
        led(LeaderMessage(stage=Stage.SERVING, generation=gang())),
        Orders(ready=1, run=MayRun.PSERVERS, until=LEASE),
    ),
    ("then trainers", led(TRAINING), Orders(ready=1, run=MayRun.ALL, until=LEASE)),
    ("a verdict ends all", led(replace(TRAINING, verdict=OVER)), Orders(ready=1, verdict=OVER, until=LEASE)),
    (
        "so does one in the record",
        led(TRAINING, record=Recorded(sealed=OVER)),
        Orders(ready=1, verdict=OVER, until=LEASE),
    ),
    (
        "the lease stands above the grace of a verdict, too",
        of(led(TRAINING, record=Recorded(sealed=OVER)), 1, sent=NOW - 10),
        Orders(ready=1, verdict=OVER, kill=True, until=NOW),
    ),
    (
        "but a leader's own programs have all of it",
        of(view(status(1, ready=1, known=1, word=replace(TRAINING, verdict=OVER)), *READY[1:]), 3, sent=NOW - 10),
        Orders(ready=1, verdict=OVER),
    ),
    (
        "so does that of a leader which nobody follows any more",
        replace(led(replace(TRAINING, verdict=OVER), mine=IDLE), order=()),
        Orders(verdict=OVER),
    ),
]


@pytest.mark.parametrize(("seen", "orders"), [row[1:] for row in FOLLOWING], ids=[row[0] for row in FOLLOWING])
def test_a_member_follows_its_leader(seen: View, orders: Orders) -> None:
    assert follow(seen, RULES) == orders


LEADING = view(status(1, ready=1, known=1, word=TRAINING), *READY[1:])
ENDS = [
    ("the leader ended it", led(ENDED), "a child ended with 7", False),
    ("the leader is silent for the lease", of(led(TRAINING), 1, sent=NOW - 10), "has not answered in time", True),
    ("the leader's process is gone", of(led(TRAINING), 1, refused=True), "is gone", False),
    ("another process leads in its place", led(None), "was started again", False),
    ("the leader is in another generation", led(LeaderMessage(generation=gang(2))), "was started again", False),
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
    orders = follow(seen, RULES)
    assert orders.end
    assert why in orders.end.reason
    assert orders.kill == kill


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
    assert lease.accounted(who(2), known, 1) == so


SILENT = of(view(READY[2]), 3, sent=NOW - 12, wrote=NOW - 12)
ORPHAN = view(status(1, ready=1, known=1), mine=2)
FENCES = [
    ("the leader: all say that nothing runs", lease.leaders, view(), NOW),
    ("the leader: a member is silent, its lease may not be", lease.leaders, SILENT, NOW + 3),
    ("a member: its leader is there, and in the order", lease.members, ORPHAN, NOW),
    (
        "a member: another launcher is at its address, and the next generation is made with that one",
        lease.members,
        view(
            status(3, word=LeaderMessage(stage=Stage.READYING, generation=gang(2, who(3), who(1, boot="2"), who(2)))),
            status(1, ready=1),
            mine=2,
            order=(who(3).address, who(1).address, who(2).address),
        ),
        NOW + 10,
    ),
    ("a member: its leader is there, and nobody's any more", lease.members, replace(ORPHAN, order=()), NOW + 10),
    ("a member: such a leader has all at rest", lease.members, replace(view(mine=2), order=()), NOW),
    (
        "a member: its leader is silent, and the others may hang on it",
        lease.members,
        of(ORPHAN, 1, sent=NOW - 12, wrote=NOW - 12),
        NOW + 13,
    ),
    ("a member: process 1 is gone, the others may not know", lease.members, of(ORPHAN, 1, refused=True), NOW + 10),
]


@pytest.mark.parametrize(("fence", "seen", "until"), [row[1:] for row in FENCES], ids=[row[0] for row in FENCES])
def test_nobody_of_the_last_generation_runs_from_then_on(fence: Fenced, seen: View, until: float) -> None:
    assert max(NOW, fence(gang(), Fence(), seen, LIMITS).until) == until


def test_a_member_that_was_never_heard_lacks_everything() -> None:
    assert lacking(who(2).address, READYING, replace(view(), heard={})) == "10.0.0.2 has not answered yet"


def test_a_member_takes_part_in_nothing_before_it_was_ready() -> None:
    with pytest.raises(RuntimeError, match="taken part"):
        _ = Member(status=status(1), rules=RULES).taking_part


HERE = status(1, ready=1, known=1, children=1)
GONE = status(1, known=1)
COUNTS = [
    ("before any generation", Member(status=status(1), rules=RULES), None, 0),
    ("the leader, while its programs run", Member(status=HERE, rules=RULES, last=gang()), 0, 0),
    (
        "the leader, while those of a member may run",
        Member(status=replace(GONE, quiet=False), rules=RULES, last=gang()),
        0,
        0,
    ),
    ("the leader, once nothing runs", Member(status=GONE, rules=RULES, last=gang(4)), None, 4),
    ("the second, while its own run", Member(status=READY[1], rules=RULES, last=gang()), 1, 0),
    ("the second, after that", Member(status=status(2, known=1, quiet=False), rules=RULES, last=gang()), None, 0),
    ("the third", Member(status=READY[2], rules=RULES, last=gang()), None, 0),
]


@pytest.mark.parametrize(("member", "counter", "rested"), [row[1:] for row in COUNTS], ids=[row[0] for row in COUNTS])
def test_two_members_say_that_programs_of_a_run_may_run_and_the_leader_that_none_does(
    member: Member, counter: int | None, rested: int
) -> None:
    assert (member.counter, member.rested) == (counter, rested)
