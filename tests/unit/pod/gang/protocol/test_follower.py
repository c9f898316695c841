"""One row a rule: who renews a lease, what orders come to for the children, when passes are looked at."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launcher.pod.gang.protocol.follower import MayRun, Orders, ended, instructed, leased, renewals
from launcher.pod.gang.protocol.member import Member, Order
from launcher.pod.gang.protocol.messages import LeaderMessage
from launcher.pod.gang.protocol.state import Recorded, View
from launcher.pod.outcome import Outcome
from launcher.pod.programs.policy import Cause, Instructions
from launcher.pod.settings.nouns import Role
from tests.support.gang_world.views import NOW, OVER, READY, READYING, RULES, TRAINING, heard, of, status, view, who

IDLE = status(2)
LED = view(status(1, ready=1, known=1, word=TRAINING), READY[1], mine=2)  # what member 2 knows of its leader
RENEWED = [
    ("it answers itself", LED, NOW - 1),
    ("it was started again", of(LED, 1, status=status(1, who=who(1, boot="2"))), NOW - 7),
    ("a stranger answers in its place", of(LED, 1, status=None, stranger="another job"), NOW - 7),
    ("nobody has answered since", of(LED, 1, status=None, sent=NOW - 8), NOW - 8),
]


@pytest.mark.parametrize(("seen", "sent"), [row[1:] for row in RENEWED], ids=[row[0] for row in RENEWED])
def test_only_the_generations_own_leader_renews_the_lease(seen: View, sent: float) -> None:
    renewed = renewals((who(1),), {"1.1": NOW - 7}, seen)
    assert leased((who(1),), renewed, seen).of(who(1).address).sent == sent
    assert leased((who(1),), renewals((who(1),), {}, seen), seen).of(who(1).address).sent in (NOW - 1, 0.0)


WITH_GRACE = Instructions(run=frozenset({Role.PSERVER}), grace=2.5)
ENDING = replace(WITH_GRACE, cause=Cause(at=NOW - 1, outcome=ended("why"), grace=2.5))
OVERRULED = replace(WITH_GRACE, cause=Cause(at=NOW - 1, outcome=OVER))
INSTRUCTED = [
    ("nothing ends", WITH_GRACE, Orders(run=MayRun.ALL), None),
    ("the generation ends: its grace", WITH_GRACE, Orders(end=OVER), Cause(at=NOW, outcome=OVER, grace=2.5)),
    ("a verdict: the usual grace", WITH_GRACE, Orders(verdict=OVER), Cause(at=NOW, outcome=OVER)),
    ("a kill: none", WITH_GRACE, Orders(end=OVER, kill=True), Cause(at=NOW, outcome=OVER, grace=0.0)),
    ("the first cause stands", ENDING, Orders(verdict=OVER), ENDING.cause),
    ("but a kill ends its grace", ENDING, Orders(end=OVER, kill=True), Cause(at=NOW, outcome=OVER, grace=0.0)),
    (
        "and that of a verdict",
        OVERRULED,
        Orders(verdict=OVER, kill=True),
        Cause(at=NOW, outcome=OVER, grace=0.0),
    ),
]


@pytest.mark.parametrize(
    ("before", "orders", "cause"), [row[1:] for row in INSTRUCTED], ids=[row[0] for row in INSTRUCTED]
)
def test_orders_become_what_is_wanted_of_the_children(
    before: Instructions, orders: Orders, cause: Cause | None
) -> None:
    after = instructed(before, replace(orders, check=True, until=NOW + 1), NOW)
    assert (after.cause, after.check, after.until, after.grace) == (cause, True, NOW + 1, 2.5)
    assert (Role.TRAINER in after.run) is (orders.run is MayRun.ALL)


CALM = [
    ("nothing was heard", None, False),
    ("programs still end", LeaderMessage(), False),
    ("none runs any more", LeaderMessage(calm=True), True),
    ("none was started yet: who takes its order anew looks again", READYING, True),
    ("they run", TRAINING, False),
]


@pytest.mark.parametrize(("word", "calm"), [row[1:] for row in CALM], ids=[row[0] for row in CALM])
def test_passes_are_looked_at_while_no_program_runs(word: LeaderMessage | None, calm: bool) -> None:
    addresses = tuple(who(number).address for number in (1, 2, 3))
    member = Member(status=IDLE, rules=RULES, order=Order(addresses=addresses, digest="order"))
    member.look(NOW, {who(1).address: heard(status(1, word=word))}, Recorded())
    assert member.calm is calm


@pytest.mark.parametrize("sealed", [None, OVER])
def test_who_wakes_from_a_long_sleep_kills_also_where_it_finds_a_verdict(sealed: Outcome | None) -> None:
    seen = view(status(1, ready=1, known=1, word=READYING), IDLE, mine=2)
    member = Member(status=IDLE, rules=RULES, order=Order(addresses=seen.order, digest="order"))
    assert member.look(NOW, seen.heard, seen.record).ready
    orders = member.look(NOW + 16, seen.heard, Recorded(sealed=sealed))
    assert orders.kill
    assert orders.verdict == sealed
