"""Paddle's pservers in the first pods while trainers come and go: they keep their number, and no pass is lost."""

from __future__ import annotations

import itertools
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.real.recommendation import ENVIRONMENT, EXAMPLE, await_pass, errors
from tests.support.gangs import Gang, gang
from tests.support.pods import JOB
from tests.support.recommendation import furnish_split

pytestmark = pytest.mark.timeout(300)
PASSES = 16
ENV = {
    **ENVIRONMENT,
    "LAUNCHER_MEMBERS": "2:3",
    "LAUNCHER_SETTLE": "1",
    "LAUNCHER_SHRINK_AFTER": "2",
    "LAUNCHER_MAX_RESTARTS": "0",
    "CONF_PADDLE_GRADIENT_NUM": "",
    "TRAIN_CONFIG_DIR": "recommendation",
}


def made(g: Gang) -> list[dict[str, Any]]:
    return g.events("generation_made")


def serving(g: Gang) -> dict[int, list[str]]:
    """Return where a pserver was started, in each start."""
    found: dict[int, list[str]] = {}
    for each in g.all:
        number = 0
        for event in each.events():
            number = event.get("generation", number)
            if event["event"] == "child_started" and event["child"].startswith("pserver"):
                found.setdefault(number, []).append(each.address)
    return found


def begun_again(g: Gang) -> list[int]:
    """Return of each start but the last how many steps it had made after the pass that the next one goes on from."""
    steps = []
    for before, after in itertools.pairwise(made(g)):
        mine = [each for each in g.events("progress") if each["generation"] == before["generation"]]
        steps.append(max((each["step"] for each in mine if each["pass"] > after["resume"]), default=0))
    return steps


def test_a_third_trains_after_a_pass_and_the_first_leaves_with_its_pserver(
    paddle_python: Path, tmp_path: Path
) -> None:
    furnish_split(tmp_path / "volume" / JOB, 3)
    command = (str(paddle_python), str(EXAMPLE / "train.py"), f"--passes={PASSES}")
    with gang(3, tmp_path, command=command, env=ENV, api=True, process_one=True, start=False) as g:
        g.start(0, 1)
        await_pass(g, 1)
        g.start(2)
        g.wait(lambda: len(made(g)) == 2, timeout=60)
        await_pass(g, made(g)[1]["resume"] + 2)
        first = g.places.pop(0)
        first.send(signal.SIGTERM)
        g.hide(first)
        assert g.codes(timeout=200) == [0, 0]
        assert [len(each["members"]) for each in made(g)] == [2, 3, 2]
        first_pods, last_pods = ([g.address(each) for each in those] for those in ((0, 1), (1, 2)))
        assert serving(g) == {1: first_pods, 2: first_pods, 3: last_pods}
        assert begun_again(g)[0] == 0, "a step of the start before was made again"
        assert errors(g)[PASSES - 1] < 0.85
