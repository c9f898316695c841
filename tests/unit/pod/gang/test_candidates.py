"""Of the pods that are shown, who would take part, and from when on they are taken."""

from __future__ import annotations

from dataclasses import replace

from launcher.pod.gang.candidates import Candidates
from launcher.pod.gang.protocol.messages import Status, Who
from launcher.pod.peers.roster import Peer, Roster, Waiting
from launcher.pod.settings.nouns import Resize, Role, Width

WIDTH = Width(least=2, most=3, settle=5.0, shrink_after=9.0, resize=Resize.PASS)
PODS = tuple(Peer(address=f"10.0.0.{number}", index=number) for number in range(4))
MINE = Status(who=Who(role=Role.NODE, address=PODS[0].address, uid="", boot="b"))


def shown(*numbers: int) -> Roster:
    pods = tuple(PODS[number] for number in numbers)
    return Roster(pservers=pods, trainers=pods, me=PODS[0], role=Role.NODE, key="k")


def taking_part(candidates: Candidates) -> tuple[int | None, ...]:
    found = candidates.found
    return tuple(peer.index for peer in found.trainers) if isinstance(found, Roster) else ()


def test_of_more_than_the_most_the_first_take_part_and_of_fewer_those_that_are_not_left_out() -> None:
    candidates = Candidates(WIDTH, 2)
    assert candidates.look(shown(0, 1, 2, 3), (), 1.0)
    assert taking_part(candidates) == (0, 1, 2)
    assert candidates.look(candidates.listed, (PODS[1].address,), 2.0)
    assert taking_part(candidates) == (0, 2, 3)
    assert not candidates.look(candidates.listed, (PODS[1].address,), 3.0)


def test_a_narrow_gang_is_taken_once_nobody_has_come_or_gone_for_a_while() -> None:
    candidates = Candidates(WIDTH, 2)
    candidates.look(shown(0, 1), (), 1.0)
    assert candidates.settled(MINE) == 1.0 + WIDTH.settle
    candidates.look(shown(0, 1), (), 3.0)  # seen anew, and the same
    assert candidates.settled(MINE) == 1.0 + WIDTH.settle
    candidates.look(shown(0, 2), (), 4.0)
    assert candidates.settled(MINE) == 4.0 + WIDTH.settle
    assert candidates.settled(replace(MINE, known=1)) == 4.0 + WIDTH.shrink_after
    candidates.look(Waiting(reason="1 of 2"), (), 5.0)
    assert (candidates.listed, taking_part(candidates)) == (None, ())
    candidates.look(shown(0, 2), (), 6.0)
    assert candidates.settled(MINE) == 6.0 + WIDTH.settle
    candidates.look(shown(0, 1, 2), (), 7.0)
    assert candidates.settled(MINE) == 7.0


def test_a_fixed_width_takes_whoever_is_complete_at_once() -> None:
    candidates = Candidates(replace(WIDTH, least=3), 3)
    candidates.look(shown(0, 1, 2), (), 1.0)
    assert (taking_part(candidates), candidates.settled(MINE)) == ((0, 1, 2), 1.0)
