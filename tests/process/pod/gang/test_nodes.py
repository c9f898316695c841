"""On which node what failed: kept over runs, said by the verdict, shown by the leader."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from launcher.contract import NODE_FAILURES, runs_directory
from tests.support.gangs import Fault, Gang, gang
from tests.support.launchers import Launcher
from tests.support.outcomes import is_done
from tests.support.pods import JOB

pytestmark = pytest.mark.timeout(60)

NODES = {rank: {"NODE_NAME": f"node-{rank}"} for rank in range(3)}


def noted(g: Gang) -> list[dict[str, Any]]:
    path = g.output / ".launcher" / runs_directory(JOB) / NODE_FAILURES
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def shown(each: dict[str, Any]) -> tuple[object, ...]:
    return tuple(each[name] for name in ("generation", "node", "role", "rank", "code", "lost"))


def shown_by(leader: Launcher) -> list[dict[str, Any]]:
    code, page = leader.page("/gang")
    return list(json.loads(page).get("failures", ())) if code == 200 else []


def test_failures_and_losses_are_noted_with_their_nodes_and_shown_by_the_leader(tmp_path: Path) -> None:
    faults = [Fault("pass 0", "exit 7", rank=1), Fault("pass 1", "wait", generation=2, times=0)]
    with gang(3, tmp_path, process_one=True, faults=faults, env_of=NODES) as g:
        g.await_trace("fault", 3, do="wait")
        g.launcher(2).kill()
        g.again(2)
        g.await_training(3)
        g.wait(lambda: len(noted(g)) == 2)
        assert [shown(each) for each in noted(g)] == [
            (1, "node-1", "node", 1, 7, False),
            (2, "node-2", "node", 2, 76, True),
        ]
        failures = g.wait(lambda: found if len(found := shown_by(g.launcher(0))) == 2 else None) or []
        assert [each["node"] for each in failures] == ["node-1", "node-2"]
        assert {each.status()["node"] for each in g.places} == {"node-0", "node-1", "node-2"}
        g.go()
        is_done(g)
        (failure,), (lost,) = g.events("failure"), g.events("lost")
        assert (failure["node"], lost["node"]) == ("node-1", "node-2")


def test_the_loss_of_the_leader_is_noted_by_the_next_one(tmp_path: Path) -> None:
    """Of the pod in its place, which may be on another node, nothing is said."""
    held = Fault("pass 1", "wait", generation=1, times=0)
    with gang(3, tmp_path, api=True, process_one=True, faults=[held], env_of=NODES) as g:
        g.await_trace("fault", 3)
        g.launcher(0).kill()
        g.replace(0)
        is_done(g)
        (lost,) = noted(g)
        assert (lost["generation"], lost["node"], lost["lost"]) == (1, "node-0", True)


def test_a_verdict_names_the_node_that_has_most_of_the_last_failures_of_all_runs(tmp_path: Path) -> None:
    said = "; node-1: {} of the last {} failures (submit -avoid node-1)"
    faults = [Fault("pass 1", "exit 7", rank=1, times=0)]
    with gang(3, tmp_path, faults=faults, env={"LAUNCHER_MAX_RESTARTS": "1"}, env_of=NODES) as g:
        code, message = g.verdict()
        assert code == 7
        assert "of the last" not in message
        g.apply("another-key", LAUNCHER_MAX_RESTARTS="0")
        g.start()
        code, message = g.verdict()
        assert code == 7
        assert message.splitlines()[0].endswith(said.format(3, 3))
        assert [shown(each)[:2] for each in noted(g)] == [(1, "node-1"), (2, "node-1"), (1, "node-1")]


def test_a_pod_knows_its_node_by_the_api_where_nobody_tells_it(tmp_path: Path) -> None:
    with gang(1, tmp_path, api=True, faults=[Fault("pass 1", "wait")]) as g:
        g.await_trace("fault")
        assert g.launcher(0).status()["node"] == "node-a"
        g.go()
        is_done(g)


def test_a_stop_is_noted_as_nobody_s_failure(tmp_path: Path) -> None:
    held = Fault("pass 1", "wait", generation=1, times=0)
    with gang(2, tmp_path, process_one=True, faults=[held], env_of=NODES) as g:
        g.await_trace("fault", 2)
        g.launcher(1).send(signal.SIGTERM)
        g.wait(lambda: g.launcher(1).code is not None)
        g.again(1)
        is_done(g)
        assert noted(g) == []
