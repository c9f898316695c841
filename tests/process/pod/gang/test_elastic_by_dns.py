"""A gang whose width changes and whose pods know each other by the names of an Indexed Job alone."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from launcher.contract import job_of
from launcher.pod.settings.nouns import Role
from tests.support.account import need_mounts
from tests.support.gangs import Gang, gang
from tests.support.hosts import Hosts
from tests.support.pods import JOB
from tests.support.script import Fault

pytestmark = pytest.mark.timeout(120)
ENV = {"LAUNCHER_PEERS": "dns:gang", "LAUNCHER_SETTLE": "1", "LAUNCHER_SHRINK_AFTER": "3"}
PSERVERS = 1
READY = "1 pod is ready to take part after the next pass"


def index(place: int) -> int:
    return place if place < PSERVERS else place - PSERVERS


def name(place: int) -> str:
    role = Role.PSERVER if place < PSERVERS else Role.TRAINER
    return f"{job_of(JOB, role)}-{index(place)}.gang"


def start(g: Gang, hosts: Hosts, *places: int) -> None:
    """Start pods; their names lead to them from then on."""
    for place in places:
        hosts.put(name(place), g.address(place))
    g.start(*places)


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
def by_dns(top: Path, members: str, **given: Any) -> Iterator[tuple[Gang, Hosts]]:
    """Give a gang of a pserver's pod and at most three trainers' away, none of which is started."""
    need_mounts()
    hosts = Hosts(top / "etc")
    env, own = {**ENV, "LAUNCHER_MEMBERS": members}, {n: {"JOB_COMPLETION_INDEX": str(index(n))} for n in range(4)}
    with gang(
        4, top, pservers=PSERVERS, process_one=True, start=False, env=env, env_of=own, enter=hosts.enter, **given
    ) as g:
        yield g, hosts


def test_two_of_three_begin_a_third_makes_itself_known_takes_part_and_leaves_again(tmp_path: Path) -> None:
    held = [Fault("pass 2", "wait first"), Fault("pass 6", "wait second", times=0)]
    with by_dns(tmp_path, "1:3", passes=8, faults=held) as (g, hosts):
        start(g, hosts, 0, 1, 2)
        g.await_trace("fault", place="pass 2")
        start(g, hosts, 3)
        g.wait(lambda: g.places[1].status()["word"]["waiting"] == READY)
        g.go("first")
        g.await_trace("fault", 3, place="pass 6", generation=2)
        assert ranks(g) == {1: [0, 1], 2: [0, 1, 2]}
        hosts.remove(name(3))
        g.places.pop(3).life.send(signal.SIGTERM)
        g.await_trace("fault", 2, place="pass 6", generation=3)
        g.go("second")
        assert g.verdict() == (0, "every trainer is done")
        one, two, three = (g.address(place) for place in (1, 2, 3))
        assert made(g) == [([one, two], None, 0), ([one, two, three], 5, 0), ([one, two], 5, 0)]
