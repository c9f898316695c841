"""A launcher that was brought into a pod beside the same one in its image: its start, its memory, what it takes.

Of processes on this machine, whose Python is the same, and of pods on the real cluster, which have one image; one of
them has an init container before it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bench.lives import Ground, as_process_one, init, job, ringing, where
from bench.pfs import clusters
from bench.processes import Bell, bell
from bench.rows import Figure, Figures, Row, Values, in_turns, rows
from bench.start import started
from launcher.contract import BROUGHT, HOME
from tests.cluster.kubectl import Kubectl
from tests.cluster.namespaces import own
from tests.grounds.docker import INIT, LAUNCHER
from tests.support.brought import make_tree

PEER = "not injected"
SIZE_GOAL, ADDED_GOAL = 50, 1.5  # MB on a disk, seconds
ROUNDS, PODS = 15, 9
START = "from launcher.pod.__main__ import main; main()"  # as start_paddle has it, whose first line names /launcher
# As the launcher's own Python tells it in the pod: the memory of process 1, and what lies on the volume.
LOOK = """\
import json, os, sys
lines = dict(line.split(":", 1) for line in open("/proc/1/status"))
blocks = [os.lstat(os.path.join(place, name)).st_blocks for place, below, names in os.walk(sys.argv[1])
          for name in (*below, *names)]
print(json.dumps({"rss": int(lines["VmRSS"].split()[0]) * 1024 / 1e6, "size": sum(blocks) * 512 / 1e6}))
"""


def injected(ground: Ground) -> tuple[Row, ...]:
    """Return what it costs that a launcher is brought."""
    tree = make_tree(ground.directory)
    ours = (str(tree / "bin" / "python"), "-I", "-c", START)
    with bell(ground.directory) as hung:
        found = (
            *_processes(ground, hung, "init", init(ground), ours),
            *_processes(ground, hung, "a job's pod, peers listed", job(ground), ours),
        )
        return (*found, *_pods(ground, hung))


def _processes(
    ground: Ground, hung: Bell, name: str, env: Mapping[str, str], ours: tuple[str, ...]
) -> tuple[Row, ...]:
    before, child = as_process_one(ground), ringing(hung.path)
    figures = ground.in_turns(
        {"ours": lambda: started((*before, *ours, "--", *child), env, hung)},
        {PEER: lambda: started((*before, *ground.ours, "--", *child), env, hung)},
        ROUNDS,
    )
    what = f"injected, {name}, {where(ground)}"
    since = Row(what=f"{what}: start to the child's exec", unit="ms", ours=None, against="")
    memory = Row(what=f"{what}: memory (RSS)", unit="MB", ours=None, against="")
    return (*rows(since, "ms", figures, (PEER,)), *rows(memory, "rss", figures, (PEER,)))


def _pods(ground: Ground, hung: Bell) -> tuple[Row, ...]:
    with clusters(ground) as cluster, own(cluster.kubectl) as kubectl:
        figures = _measured(ground, kubectl, hung)
    whole = Row(what="injected, a pod: from kubectl create to the program", unit="s", ours=None, against="")
    memory = Row(what="injected, a pod: the launcher's memory (RSS)", unit="MB", ours=None, against="")
    return (
        *rows(whole, "s", figures, (PEER,)),
        _alone("what it adds to a pod's start", "s", figures["added"]["s"], ADDED_GOAL),
        *rows(memory, "rss", figures, (PEER,)),
        _alone("what it takes of the node's disk", "MB", figures["ours"]["size"], SIZE_GOAL),
    )


def _alone(what: str, unit: str, found: Figure, goal: float) -> Row:
    return Row(what=f"injected, a pod: {what}", unit=unit, ours=found, against="", goal=goal)


def _measured(ground: Ground, kubectl: Kubectl, hung: Bell) -> Figures:
    last: dict[str, Values] = {}

    def measure(name: str) -> Values:
        with _pod(kubectl, hung, name == "ours") as values:
            last[name] = values
            return values

    def added() -> Values:
        return {"s": last["ours"]["s"] - last[PEER]["s"]}

    measures = {PEER: lambda: measure(PEER), "ours": lambda: measure("ours"), "added": added}
    return in_turns(measures, ground.rounds(PODS), ground.progress)


@contextmanager
def _pod(kubectl: Kubectl, hung: Bell, brought: bool) -> Iterator[Values]:
    """Make a pod whose program rings, give away what was seen of it, and remove it."""
    begun, place = time.monotonic(), BROUGHT if brought else HOME
    kubectl.apply(_manifest(hung, place, brought))
    heard, _ = hung.hear()
    seen = kubectl("exec", "one", "--", f"{place}/bin/python", "-c", LOOK, place)
    yield {"s": heard - begun, **json.loads(seen)}
    kubectl("delete", "pod", "one", "--grace-period=0", "--force", timeout=60)


def _manifest(hung: Bell, place: str, brought: bool) -> dict[str, Any]:
    mount = {"name": "launcher", "mountPath": "/launcher"}
    bringing = {"name": "launcher", "image": INIT, "volumeMounts": [mount]}
    program = {
        "name": "program",
        "image": LAUNCHER,
        "command": [f"{place}/bin/start_paddle", "--", *ringing(hung.path)],
        "env": [{"name": "LAUNCHER_PEERS", "value": "self"}],
        "volumeMounts": [mount, {"name": "bell", "mountPath": str(hung.path.parent)}],
    }
    spec = {
        "restartPolicy": "Never",
        "initContainers": [bringing] if brought else [],
        "containers": [program],
        "volumes": [
            {"name": "launcher", "emptyDir": {}},
            {"name": "bell", "hostPath": {"path": str(hung.path.parent)}},
        ],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": spec}
