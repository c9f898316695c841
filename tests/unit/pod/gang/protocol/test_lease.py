"""The lease: its sums, and that no other module does any."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from launcher.pod.gang.protocol import lease
from launcher.pod.gang.protocol.messages import LeaderMessage, Stage, Status
from launcher.pod.gang.protocol.reasons import deserted
from tests.support.gang_world.views import (
    BORN_AGAIN,
    LIMITS,
    NOW,
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

ROOT = Path(__file__).parents[5]
LEASE = ROOT / "launcher/pod/gang/protocol/lease.py"
OTHERS = sorted(path for path in ROOT.glob("launcher/**/*.py") if path != LEASE)


def sums(tree: ast.AST) -> Iterator[ast.Attribute]:
    """Yield each use of the lease, or of the time after which a peer is lost, but those that only tell it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FormattedValue):
            continue
        if isinstance(node, ast.Attribute) and _is_of_the_lease(node):
            yield node
        yield from sums(node)


def _is_of_the_lease(node: ast.Attribute) -> bool:
    return node.attr == "lease" or (node.attr == "lost" and ast.unparse(node.value).endswith("limits"))


def test_no_other_module_adds_a_lease_to_a_time() -> None:
    found = [f"{path}:{node.lineno}" for path in OTHERS for node in sums(ast.parse(path.read_text()))]
    assert not found
    assert list(sums(ast.parse(LEASE.read_text())))


def test_the_limits_follow_from_the_time_out_of_a_peer() -> None:
    limits = lease.limits_of(peer=30.0, join=600.0, rejoin=900.0)
    assert (limits.lost, limits.lease, limits.wait) == (30.0, 20.0, 6.0)
    assert (limits.gather, limits.regather) == (600.0, 900.0)


@pytest.mark.parametrize(("lap", "wait"), [(0.1, 6.0), (6.5, 6.5), (9.0, 20.0 / 3)])
def test_polls_wait_as_long_as_a_lap_of_all_takes_up_to_a_third_of_the_lease(lap: float, wait: float) -> None:
    assert lease.limits_of(peer=30.0, join=600.0, rejoin=900.0, lap=lap).wait == pytest.approx(wait)


@pytest.mark.parametrize(("wanted", "given"), [(1.0, 1.0), (25.0, 2.5)])
def test_children_that_are_cut_off_have_ended_before_the_others_hold_them_lost(wanted: float, given: float) -> None:
    grace = lease.grace(wanted, LIMITS)
    assert grace == given
    assert lease.alive_until(NOW, LIMITS) + grace < lease.lost_at(NOW, LIMITS)


@pytest.mark.parametrize(("sent", "so"), [(NOW, False), (NOW - 10, False), (NOW - 10.1, True)])
def test_a_peer_is_silent_after_a_lease_without_an_answer(sent: float, so: bool) -> None:
    assert lease.silent(heard(status(2), sent=sent, wrote=0.0), NOW, LIMITS) == so


@pytest.mark.parametrize(("wrote", "so"), [(NOW, False), (NOW - 15, False), (NOW - 15.1, True)])
def test_a_peer_that_does_not_ask_is_lost_later_than_its_own_lease(wrote: float, so: bool) -> None:
    assert lease.unasking(heard(BORN_AGAIN, sent=NOW, wrote=wrote), NOW, LIMITS) == so


def test_a_question_that_anybody_may_forge_delays_a_loss_by_no_more_than_the_lease() -> None:
    """Who asks as a member that is lost keeps it in the gang until its own answers are missed, and not longer."""
    word = LeaderMessage(stage=Stage.TRAINING, generation=gang())
    asked_for = of(view(*READY), 2, wrote=NOW, sent=NOW - LIMITS.lease)
    assert deserted(who(2), word, asked_for, RULES) == ""
    assert "has not answered for 10 s" in deserted(who(2), word, replace(asked_for, now=NOW + 0.1), RULES)


def test_a_member_s_children_run_on_its_leader_s_answers() -> None:
    seen = of(view(status(1, word=TRAINING), READY[1], mine=2), 1, sent=NOW - 4)
    leader = seen.of(seen.order[0])
    assert lease.children_until(leader, TRAINING, seen, LIMITS) == NOW + 6


def test_the_leader_s_own_children_run_on_the_answers_of_every_member() -> None:
    seen = of(view(*READY), 3, sent=NOW - 7)
    own = seen.of(seen.order[0])
    assert lease.children_until(own, TRAINING, seen, LIMITS) == NOW + 3


@pytest.mark.parametrize(("wrote", "until"), [(NOW - 1, NOW + 9), (NOW - 14, NOW + 3.5), (NOW - 17.5, NOW)])
def test_a_leader_s_own_children_end_once_a_member_asks_no_more_whatever_their_grace(
    wrote: float, until: float
) -> None:
    """It hears that member, which does not hear it, and goes on with others while a stop may have a long grace."""
    seen = of(view(*READY), 3, sent=NOW, wrote=wrote)
    assert lease.children_until(seen.of(seen.order[0]), TRAINING, seen, LIMITS) == until


def test_a_leader_without_a_generation_has_its_own_answer_alone() -> None:
    seen = of(view(*READY), 3, sent=NOW - 7)
    assert lease.children_until(seen.of(seen.order[0]), None, seen, LIMITS) == NOW + LIMITS.lease


def test_strangers_end_once_they_could_have_learned_and_their_leases_are_over() -> None:
    assert lease.strangers_until(NOW, LIMITS) == NOW + LIMITS.lost + LIMITS.lease


def test_the_record_is_read_more_than_once_in_a_lease() -> None:
    assert 0 < lease.reading_pace(LIMITS) < LIMITS.lease / 2


@pytest.mark.parametrize(
    ("leader", "until"),
    [(status(1, quiet=True), 0.0), (status(1, quiet=False), NOW + LIMITS.lease), (READY[0], NOW + LIMITS.lease)],
    ids=["it had said that nothing runs", "it had not", "it was killed in the generation"],
)
def test_a_leader_that_is_gone_is_believed_what_it_said_last(leader: Status, until: float) -> None:
    seen = of(view(leader, mine=2), 1, refused=True)
    assert lease.members(gang(), lease.Fence(), seen, LIMITS).until == until
