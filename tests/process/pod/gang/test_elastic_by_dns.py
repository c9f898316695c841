"""A gang whose width changes and whose pods know each other by the names of an Indexed Job alone."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.gangs import Gang, gang
from tests.support.script import Fault

pytestmark = pytest.mark.timeout(120)
ENV = {"LAUNCHER_SETTLE": "1", "LAUNCHER_SHRINK_AFTER": "2"}
PSERVERS = 1
READY = "1 pod is ready to take part after the next pass"


def ranks(g: Gang) -> dict[int, list[int]]:
    """Return the ranks of the trainers that started in each generation."""
    found: dict[int, list[int]] = {}
    for each in g.trace("start", role="trainer"):
        found.setdefault(each["generation"], []).append(each["rank"])
    return {number: sorted(ranks) for number, ranks in found.items()}


def made(g: Gang) -> list[tuple[list[str], int | None, int]]:
    """Return of each generation where its trainers are, after which pass it goes on, and what it has cost."""
    return [
        ([who["address"] for who in each["members"] if who["role"] == "trainer"], each["resume"], each["restarts"])
        for each in g.events("generation_made")
    ]


@contextmanager
def by_dns(
    top: Path,
    members: str,
    *,
    env: dict[str, str] | None = None,
    **given: Any,  # noqa: ANN401  # as gang takes them
) -> Iterator[Gang]:
    """Give a gang of a pserver's pod and at most three trainers' away, none of which is started."""
    env = {**ENV, "LAUNCHER_MEMBERS": members, **(env or {})}
    with gang(4, top, pservers=PSERVERS, names=True, process_one=True, start=False, env=env, **given) as g:
        yield g


def test_two_of_three_begin_a_third_makes_itself_known_takes_part_and_leaves_again(tmp_path: Path) -> None:
    held = [Fault("pass 2", "wait first"), Fault("pass 6", "wait second", times=0)]
    with by_dns(tmp_path, "1:3", passes=8, faults=held) as g:
        g.start(0, 1, 2)
        g.await_trace("fault", place="pass 2")
        g.start(3)
        g.wait(lambda: g.places[1].status()["word"]["waiting"] == READY)
        g.go("first")
        g.await_trace("fault", 3, place="pass 6", generation=2)
        assert ranks(g) == {1: [0, 1], 2: [0, 1, 2]}
        leaver = g.places.pop(3)
        g.hide(leaver)
        leaver.send(signal.SIGTERM)
        g.await_trace("fault", 2, place="pass 6", generation=3)
        g.go("second")
        assert g.verdict() == (0, "every trainer is done")
        one, two, three = (g.address(place) for place in (1, 2, 3))
        assert made(g) == [([one, two], None, 0), ([one, two, three], 5, 0), ([one, two], 5, 0)]


def test_the_first_index_comes_last_and_leads_the_next_start(tmp_path: Path) -> None:
    held = [Fault("pass 2", "wait go", times=0)]
    with by_dns(tmp_path, "1:3", env={"LAUNCHER_RESIZE": "now"}, faults=held) as g:
        g.start(0, 2, 3)
        g.await_trace("fault", 2, place="pass 2", generation=1)
        g.start(1)
        g.await_trace("fault", 3, place="pass 2", generation=2)
        g.go()
        assert g.verdict()[0] == 0
        one, two, three = (g.address(place) for place in (1, 2, 3))
        assert made(g) == [([two, three], None, 0), ([one, two, three], 1, 0)]


def test_a_lost_pod_s_name_leads_to_two_for_a_while_and_then_to_the_one_that_replaces_it(tmp_path: Path) -> None:
    held = [Fault("pass 2", "wait go", times=0)]
    with by_dns(tmp_path, "1:3", env={"LAUNCHER_SHRINK_AFTER": "30"}, faults=held) as g:
        g.start(0, 1, 2, 3)
        g.await_trace("fault", 3, place="pass 2", generation=1)
        lost = g.places.pop(3)
        lost.life.kill()
        new = g.join(3)
        g.wait(lambda: "2 of 1 to 3 are there: waiting for more" in waits(g, 1))
        g.hide(lost)
        g.await_trace("fault", 3, place="pass 2", generation=2)
        g.go()
        assert g.verdict()[0] == 0
        one, two = g.address(1), g.address(2)
        assert made(g) == [([one, two, lost.address], None, 0), ([one, two, new.address], 1, 1)]


def test_a_lost_pod_is_waited_for_and_then_the_others_go_on(tmp_path: Path) -> None:
    held = [Fault("pass 2", "wait go", times=0)]
    with by_dns(tmp_path, "1:3", faults=held) as g:
        g.start(0, 1, 2, 3)
        g.await_trace("fault", 3, place="pass 2", generation=1)
        lost = g.places.pop(2)
        lost.life.kill()
        g.hide(lost)
        g.await_trace("fault", 2, place="pass 2", generation=2)
        g.go()
        assert g.verdict()[0] == 0
        assert ranks(g) == {1: [0, 1, 2], 2: [0, 1]}
        assert [each[1:] for each in made(g)] == [(None, 0), (1, 1)]
        assert "2 of 1 to 3 are there: waiting for more" in waits(g, 1)


def waits(g: Gang, place: int) -> list[str]:
    return [each["reason"] for each in g.places[place].events() if each["event"] == "waiting_for_peers"]
