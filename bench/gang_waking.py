"""A pod that was frozen wakes: how long its children still run beside those that may have begun in their place."""

from __future__ import annotations

import pytest

from bench.lives import Ground
from bench.rows import Figure, Row
from tests.support.gangs import Gang, gang
from tests.support.hard_faults import FREEZER, TICKING, await_ends, frozen, last_tick, ticking
from tests.support.launchers import Launcher
from tests.support.lives import Lives
from tests.support.script import Fault

ROUNDS = 20
WHAT = "a frozen pod wakes -> its last child is dead"
PASSES = 1000


def waking(ground: Ground) -> tuple[Row, ...]:
    """Return that window, for a member and the leader in turns."""
    if not ground.root:
        return (Row(what=WHAT, unit="ms", ours=None, against="", note="not root, so no pod can be frozen"),)
    if refused := _refused(ground):
        return (Row(what=WHAT, unit="ms", ours=None, against="", note=refused),)
    rounds = ground.rounds(ROUNDS)
    env = {"LAUNCHER_PEER_TIMEOUT": "3", "LAUNCHER_MAX_RESTARTS": str(rounds + 20), "TICKING_PAUSE": "0"}
    hold = [Fault("pass 0", "hang", times=0)]
    with gang(3, ground.directory, command=TICKING, process_one=True, env=env, passes=PASSES, faults=hold) as g:
        windows = [_window(g, number, ground, f"round {number + 1} of {rounds}") for number in range(rounds)]
        for each in g.places:
            each.life.kill()
    median = Row(what=f"{WHAT}, as process 1", unit="ms", ours=Figure.of(windows), against="")
    return (median, Row(what="the same, at the most", unit="ms", ours=Figure.of([max(windows)]), against=""))


def _refused(ground: Ground) -> str:
    """Return why no pod can be frozen here, or nothing: a launcher alone is frozen and let go first, to see it."""
    with Lives() as lives:
        life = lives.start("sleep", "600")
        pod = Launcher(life=life, address="", name="", uid="", work=ground.directory, role="")
        try:
            with frozen(pod):
                return ""
        except pytest.skip.Exception as error:
            return str(error)
        except OSError as error:
            return f"{FREEZER} is in use, or not for this user: {error.strerror}"
        except AssertionError:
            return f"{FREEZER} is in use: a launcher in it did not freeze, or was not let go"


def _window(g: Gang, number: int, ground: Ground, text: str) -> float:
    ground.progress(text)
    before = g.await_training(1 + max(each.begun() for each in g.places) if number else 1)
    generation = int(before[0]["generation"])
    rank, trainers = number % 2, ticking(g)
    with frozen(g.launcher(rank)) as ice:
        await_ends(g, generation, *{0, 1, 2} - {rank})
    await_ends(g, generation, rank)
    return max(0.0, last_tick(trainers) - ice.woken) * 1e3
