"""Which roster follows from the addresses of names: who is enough, who is ranked where, and what is said else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launcher.pod.peers.addresses import Resolved
from launcher.pod.peers.name_state import PeerNames, roster_by_name
from launcher.pod.peers.roster import Peer, Roster, Waiting
from launcher.pod.settings.nouns import Role

NAMES = tuple(f"job-{index}.gang" for index in range(4))
TWO_TO_FOUR = PeerNames(names=NAMES, expected=4, counted_by="LAUNCHER_MEMBERS", apart=True, indexed=True, least=2)
PSERVERS = PeerNames(names=("ps-0.gang", "ps-1.gang"), expected=2, counted_by="PSERVERS", apart=True, indexed=True)


def found(*addresses: str, place: PeerNames = TWO_TO_FOUR) -> dict[str, Resolved]:
    """Return what each name leads to: its addresses, one after the other, or to nothing."""
    each = [tuple(text.split()) for text in addresses] + [()] * (len(place.names) - len(addresses))
    return {
        name: Resolved(addresses=led, why=f"{name} does not resolve")
        for name, led in zip(place.names, each, strict=True)
    }


def settled(*addresses: str, me: int = 0, place: PeerNames = TWO_TO_FOUR) -> Roster | Waiting:
    """Return what the pod of an index makes of these."""

    def own(_role: Role, peers: tuple[Peer, ...]) -> Peer:
        return next(peer for peer in peers if peer.index == me)

    place = replace(place, own=place.names[me])
    return roster_by_name({Role.NODE: place}, found(*addresses, place=place), Role.NODE, own)


@pytest.mark.parametrize(
    ("addresses", "me", "indexes"),
    [
        (("a", "b", "c", "d"), 3, [0, 1, 2, 3]),
        (("a", "b"), 0, [0, 1]),
        (("", "z", "", "a"), 3, [1, 3]),  # by index, not by address, and dense
        (("a", "b", "c d", "e"), 0, [0, 1, 3]),  # the old pod in its grace, and its replacement
    ],
)
def test_who_leads_to_one_address_is_there_and_ranked_by_index(
    addresses: tuple[str, ...], me: int, indexes: list[int]
) -> None:
    roster = settled(*addresses, me=me)
    assert isinstance(roster, Roster)
    assert [peer.index for peer in roster.trainers] == indexes
    assert roster.rank == indexes.index(me)


@pytest.mark.parametrize(
    ("addresses", "me", "told"),
    [
        (
            ("a",),
            0,
            "1 of 2 to 4 peers by LAUNCHER_MEMBERS have an address: job-1.gang does not resolve, 1 expected; "
            "job-2.gang does not resolve, 1 expected; job-3.gang does not resolve, 1 expected",
        ),
        (("a", "b"), 3, "job-3.gang does not resolve, 1 expected"),
        (("a", "b", "c d"), 2, "job-2.gang has 2 addresses (c, d), 1 expected: waiting for one to go"),
        (
            ("a", "b", "b"),
            0,
            "job-1.gang and job-2.gang have the same address, b: expected an address for each peer",
        ),
    ],
    ids=["fewer than the least", "the own one missing", "the own one twice", "shared"],
)
def test_else_it_is_said_who_is_missing(addresses: tuple[str, ...], me: int, told: str) -> None:
    waiting = settled(*addresses, me=me)
    assert isinstance(waiting, Waiting)
    assert waiting.reason == told
    assert {address for _, address in waiting.running} == set(" ".join(addresses).split())


def test_a_gang_of_one_width_misses_everybody() -> None:
    place = replace(TWO_TO_FOUR, least=4, counted_by="CONF_PADDLE_GRADIENT_NUM")
    waiting = settled("a", "b", "c", place=place)
    assert isinstance(waiting, Waiting)
    assert waiting.reason == (
        "3 of 4 peers by CONF_PADDLE_GRADIENT_NUM have an address: job-3.gang does not resolve, 1 expected"
    )
    assert waiting == settled("a", "b", "c", place=replace(place, least=0))
    assert isinstance(settled("a", "b", "c", "d", place=place), Roster)


@pytest.mark.parametrize(("led", "told"), [(("p",), "1 of 2 peers by PSERVERS have an address"), (("p", "q"), "")])
def test_pservers_apart_are_complete_whatever_the_trainers_width(led: tuple[str, ...], told: str) -> None:
    trainers = replace(TWO_TO_FOUR, own=NAMES[1])
    answers = {**found(*led, place=PSERVERS), **found("a", "b", "c")}
    state = roster_by_name(
        {Role.PSERVER: PSERVERS, Role.TRAINER: trainers}, answers, Role.TRAINER, lambda _, peers: peers[1]
    )
    assert state.reason.startswith(told) if isinstance(state, Waiting) else not told
    if isinstance(state, Roster):
        assert [[peer.address for peer in group] for group in (state.pservers, state.trainers)] == [[*led], [*"abc"]]


def test_a_pserver_needs_no_trainer_beyond_the_least() -> None:
    answers = {**found("p", "q", place=PSERVERS), **found("", "b", "", "d")}
    places = {Role.PSERVER: replace(PSERVERS, own="ps-0.gang"), Role.TRAINER: TWO_TO_FOUR}
    roster = roster_by_name(places, answers, Role.PSERVER, lambda _, peers: peers[0])
    assert isinstance(roster, Roster)
    assert [peer.name for peer in roster.trainers] == ["job-1.gang", "job-3.gang"]


def test_who_says_that_this_is_another_pod_is_waited_for() -> None:
    """A name may lead for up to 30 s to the pod that this one replaces."""
    told = Waiting(reason="job-0.gang leads to a, not yet to this pod")
    state = roster_by_name({Role.NODE: TWO_TO_FOUR}, found("a", "b"), Role.NODE, lambda *_: told)
    assert isinstance(state, Waiting)
    assert state.reason == told.reason
