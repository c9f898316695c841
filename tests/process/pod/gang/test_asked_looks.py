"""The stacks of a whole gang, asked for in its leader's pod, as `paddlectl stacks` does it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from launcher.contract import RECORD, STACKS
from tests.support.gangs import Gang, gang
from tests.support.lives import CHILDREN

pytestmark = pytest.mark.timeout(90)
ROOT = Path(__file__).parents[4]
COMMAND = (sys.executable, str(CHILDREN / "halting.py"), "1")
ENV = {"LAUNCHER_RUNTIME": "env"}


def asked(g: Gang, place: int, *words: str) -> dict[str, Any]:
    """Return what the agent says in a pod."""
    env = {"POD_IP": g.address(place), "PYTHONPATH": str(ROOT)}
    agent = (sys.executable, "-m", "launcher.stacks", *words)
    done = subprocess.run(agent, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert not done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == ("problem" in told)
    return told


def standing(g: Gang) -> dict[str, Any]:
    """Return what is told once the trainers stand where they do for ever."""
    told = asked(g, 0, "--all")
    return told if [each["waits"] for each in told.get("programs", ())] == [True, False, True] else {}


def test_the_leader_tells_where_all_programs_stand_and_who_differs(tmp_path: Path) -> None:
    with gang(3, tmp_path, command=COMMAND, env=ENV) as g:
        told = g.wait(lambda: standing(g))
        assert asked(g, 1) == {"leader": g.address(0)}
        first, culprit, last = told["programs"]
        assert [each["rank"] for each in told["programs"]] == [0, 1, 2]
        assert culprit["where"].startswith("read at halting.py:")
        assert first["where"].startswith("barrier at halting.py:")
        assert last["digest"] == first["digest"] != culprit["digest"]
        assert "in barrier\n" in first["text"]
        assert "in read\n" in culprit["text"]  # of another pod, by the volume
        [texts] = g.output.glob(f"{RECORD}/*/{STACKS}")
        assert len(list(texts.iterdir())) >= 3
        each_place = asked(g, 0)["programs"]
        assert ["text" in each for each in each_place] == [True, True, False]
        for each in g.places:
            each.life.send(signal.SIGTERM)
        g.codes()
