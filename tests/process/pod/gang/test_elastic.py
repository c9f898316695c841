"""A gang whose width changes: it begins with those who are there, takes in who comes, goes on without who leaves."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from launcher.pod.data.deal import deal
from tests.support.gangs import Gang, gang
from tests.support.pods import JOB
from tests.support.script import Fault
from tests.support.volume import lay_out

pytestmark = pytest.mark.timeout(120)
ENV = {"LAUNCHER_MEMBERS": "1:3", "LAUNCHER_SETTLE": "1", "LAUNCHER_SHRINK_AFTER": "2"}
AT_ONCE = ENV | {"LAUNCHER_RESIZE": "now"}
READY = "1 pod is ready to take part after the next pass"


def ranks(g: Gang) -> dict[int, list[int]]:
    """Return the ranks of the trainers that started in each generation."""
    found: dict[int, list[int]] = {}
    for start in g.trace("start", role="trainer"):
        found.setdefault(start["generation"], []).append(start["rank"])
    return {number: sorted(ranks) for number, ranks in found.items()}


def made(g: Gang) -> list[tuple[int, int | None, int]]:
    """Return of each generation how many members it has, after which pass it goes on, and what it has cost."""
    return [(len(each["members"]), each["resume"], each["restarts"]) for each in g.events("generation_made")]


def leave(g: Gang, place: int) -> None:
    """Delete a pod, which nothing replaces."""
    leaver = g.places.pop(place)
    leaver.life.send(signal.SIGTERM)
    g.hide(leaver)


def test_two_of_three_begin_a_third_takes_part_after_the_next_pass_and_leaves_again(tmp_path: Path) -> None:
    held = [Fault("pass 2", "wait first"), Fault("pass 6", "wait second", times=0)]
    with gang(4, tmp_path, pservers=1, api=True, process_one=True, start=False, passes=8, env=ENV, faults=held) as g:
        g.start(0, 1, 2)
        g.await_trace("fault", place="pass 2")
        g.start(3)
        g.wait(lambda: g.places[1].status()["word"]["waiting"] == READY)
        g.go("first")
        g.await_trace("fault", 3, place="pass 6", generation=2)
        assert ranks(g) == {1: [0, 1], 2: [0, 1, 2]}
        leave(g, 3)
        g.await_trace("fault", 2, place="pass 6", generation=3)
        g.go("second")
        assert g.verdict() == (0, "every trainer is done")
        assert ranks(g)[3] == [0, 1]
        assert made(g) == [(3, None, 0), (4, 5, 0), (3, 5, 0)]


def test_a_pod_that_is_lost_is_waited_for_and_then_the_others_go_on(tmp_path: Path) -> None:
    held = [Fault("pass 2", "wait go", times=0)]
    with gang(4, tmp_path, pservers=1, api=True, process_one=True, env=ENV, faults=held) as g:
        g.await_trace("fault", 3, place="pass 2", generation=1)
        lost = g.places.pop(2)
        lost.life.kill()
        g.hide(lost)
        g.await_trace("fault", 2, place="pass 2", generation=2)
        g.go()
        assert g.verdict()[0] == 0
        assert ranks(g) == {1: [0, 1, 2], 2: [0, 1]}
        assert made(g) == [(4, None, 0), (3, 1, 1)]
        waits = [each for each in g.places[1].events() if each["event"] == "waiting_for_peers"]
        assert "2 of 1 to 3 are there: waiting for more" in [each["reason"] for each in waits]


def test_fewer_than_the_least_wait_and_say_so_until_the_rejoin_time_out(tmp_path: Path) -> None:
    """As where somebody else than the desk has scaled the Job below its least."""
    env = ENV | {"LAUNCHER_MEMBERS": "2:3", "LAUNCHER_REJOIN_TIMEOUT": "5"}
    held = [Fault("pass 2", "wait", times=0)]
    with gang(4, tmp_path, pservers=1, api=True, process_one=True, start=False, env=env, faults=held) as g:
        g.start(0, 1, 2)
        g.await_trace("fault", 2, place="pass 2", generation=1)
        leave(g, 2)
        code, message = g.verdict()
        assert code == 76
        why = "1 of 2 to 3 trainers are running: 1 pod exists, 2 to 3 expected by LAUNCHER_MEMBERS"
        assert message == f"the gang did not come together again (LAUNCHER_REJOIN_TIMEOUT): {why}"
        assert why in [each["reason"] for each in g.places[1].events() if each["event"] == "waiting_for_peers"]
        assert made(g) == [(3, None, 0)]


def test_each_shard_is_in_one_pod_also_where_another_slot_takes_part_at_the_same_width(tmp_path: Path) -> None:
    """From slots 0, 1 and 2 to 0, 1 and 3: ranks 0 and 1 stay, and yet have other shards."""
    held = [Fault("pass 2", "wait go", times=0)]
    env = AT_ONCE | {"LAUNCHER_MEMBERS": "1:4", "LAUNCHER_SHRINK_AFTER": "20"}
    lay_out(tmp_path / "volume" / JOB, {f"data/{each}/part-{each}": f"{each}" for each in range(8)})
    with gang(
        5, tmp_path, pservers=1, api=True, process_one=True, indexed=True, start=False, env=env, faults=held
    ) as g:
        g.start(0, 1, 2, 3)
        g.await_trace("fault", 3, place="pass 2", generation=1)
        assert shards(g) == dict(enumerate(deal(8, 4, range(3)).values(), 1))
        lost = g.places.pop(3)
        lost.life.kill()
        g.hide(lost)
        g.start(4)
        g.await_trace("fault", 3, place="pass 2", generation=2)
        assert list(shards(g).values()) == list(deal(8, 4, (0, 1, 3)).values())
        kept = [event["kept"] for place in g.places[1:] for event in place.events() if event["event"] == "staged"]
        assert sum(kept) == 4, kept
        g.go()
        assert g.verdict()[0] == 0


def shards(g: Gang) -> dict[int, tuple[int, ...]]:
    """Return which shards the trainers have that are there, by their place."""
    data = {at: each.work / "data" for at, each in enumerate(g.places) if at}
    return {at: tuple(sorted(int(part.name[5:]) for part in each.iterdir())) for at, each in data.items()}


def test_pservers_beside_trainers_are_in_the_first_pods_through_every_width(tmp_path: Path) -> None:
    """Three pods, four, three without the first: two pservers each time, and a lost one's place is the next pod's."""
    held = [Fault("pass 2", "wait first"), Fault("pass 5", "wait second", times=0)]
    env = AT_ONCE | {"LAUNCHER_MEMBERS": "2:4"}
    with gang(4, tmp_path, api=True, process_one=True, start=False, passes=8, env=env, faults=held) as g:
        g.start(0, 1, 2)
        g.await_trace("fault", place="pass 2", generation=1)
        g.start(3)
        g.go("first")
        g.await_trace("fault", 4, place="pass 5", generation=2)
        lost = g.places.pop(0)
        lost.life.kill()
        g.hide(lost)
        g.await_trace("fault", 3, place="pass 5", generation=3)
        g.go("second")
        assert g.verdict() == (0, "every trainer is done")
        assert ranks(g) == {1: [0, 1, 2], 2: [0, 1, 2, 3], 3: [0, 1, 2]}
        assert serving(g) == {1: [0, 1], 2: [0, 1], 3: [1, 2]}
        assert [restarts for *_, restarts in made(g)] == [0, 0, 1]


def serving(g: Gang) -> dict[int, list[int]]:
    """Return the places of the pservers that started in each generation, in the order of their ranks."""
    places = {g.address(place): place for place in range(g.count)}
    found: dict[int, list[int]] = {}
    for start in sorted(g.trace("start", role="pserver"), key=lambda start: int(start["rank"])):
        found.setdefault(start["generation"], []).append(places[start["address"]])
    return found


def test_a_pod_that_comes_first_of_all_leads_the_next_start_and_not_this_one(tmp_path: Path) -> None:
    held = [Fault("pass 2", "wait go", times=0)]
    with gang(4, tmp_path, pservers=1, api=True, process_one=True, start=False, env=AT_ONCE, faults=held) as g:
        g.start(0, 2, 3)  # at a lower address than these is place 1
        g.await_trace("fault", 2, place="pass 2", generation=1)
        g.start(1)
        g.await_trace("fault", 3, place="pass 2", generation=2)
        g.go()
        assert g.verdict()[0] == 0
        first, second = g.events("generation_made")
        assert [who["address"] for who in first["members"]][:2] == [g.address(2), g.address(3)]
        assert [who["address"] for who in second["members"]][:3] == [g.address(1), g.address(2), g.address(3)]
        assert made(g) == [(3, None, 0), (4, 1, 0)]
