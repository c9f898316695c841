"""Pods that meet through the Kubernetes API: the start of one, and the moment when the last of three is Running."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from bench.cluster import Cluster, cluster
from bench.lives import Ground, ringing
from bench.processes import AS_PROCESS_ONE, PATIENCE, Bell, Unheard, bell, running
from bench.rows import Figure, Figures, Measure, Row, Values, rows
from bench.start import python, started
from tests.support.pods import pod

START_GOAL, MEMORY_GOAL, MEET_GOAL = 350, 55, 300
ROUNDS = 10
CLIENT = "python -c 'import kubernetes.client'"
LOOP = "the seed's loop"
# It looks each 10 s, so 5 s after the fact on average, then sleeps 20 s before its trainer starts.
LOOP_MS = (10 / 2 + 20) * 1e3
ADDRESSES = ("127.0.1.1", "127.0.1.2", "127.0.1.3")
TITLE = "3 pods by the API: the last is Running -> all trainers' exec"


def meet(ground: Ground) -> tuple[Row, ...]:
    """Return how one pod starts and how three meet."""
    if not ground.root:
        reason = "not root, so no service account can be laid where a pod has it"
        return (Row(what="a job's pod by the API", unit="ms", ours=None, against=CLIENT, note=reason),)
    with cluster(ground) as made, bell(ground.directory) as hung:
        return (*_one(ground, made, hung), *_three(ground, made, hung))


def _one(ground: Ground, made: Cluster, hung: Bell) -> tuple[Row, ...]:
    argv = (*made.inside, *ground.ours, "--", *ringing(hung.path))
    made.api.put(pod(socket.gethostname(), ADDRESSES[0]))
    client = (*AS_PROCESS_ONE, *python(hung, "import kubernetes.client"))
    ours: dict[str, Measure] = {"ours": lambda: started(argv, made.pod(ground, ADDRESSES[0], 1), hung)}
    peers: dict[str, Measure] = {CLIENT: lambda: started(client, {}, hung)}
    figures = ground.in_turns(ours, peers, ROUNDS)
    made.api.remove(socket.gethostname())
    name = "a job's pod, peers by the API, as process 1"
    time = Row(what=f"{name}: start to the trainer's exec", unit="ms", ours=None, against="", goal=START_GOAL)
    now = Row(what=f"{name}: memory while training (RSS)", unit="MB", ours=None, against="", goal=MEMORY_GOAL)
    peak = Row(what=f"{name}: memory at the most", unit="MB", ours=None, against="")
    return (
        *rows(time, "ms", figures, (CLIENT,)),
        *rows(now, "rss", figures, (CLIENT,)),
        *rows(peak, "peak", figures, (CLIENT,)),
    )


def _three(ground: Ground, made: Cluster, hung: Bell) -> tuple[Row, ...]:
    ours: dict[str, Measure] = {
        "ours": lambda: _met(ground, made, hung, waiting=3),
        "late": lambda: _met(ground, made, hung, waiting=2),
    }
    figures = ground.in_turns(ours, {}, ROUNDS)
    constructed: Figures = {LOOP: {"ms": Figure.by_construction(LOOP_MS)}}
    told = Row(what=TITLE, unit="ms", ours=None, against="", goal=MEET_GOAL)
    late = Row(what="the same, the last launcher's own start included", unit="ms", ours=None, against="")
    return (
        *rows(told, "ms", {**constructed, "ours": figures["ours"]}, (LOOP,)),
        *rows(late, "ms", {**constructed, "ours": figures["late"]}, (LOOP,)),
    )


def _met(ground: Ground, made: Cluster, hung: Bell, *, waiting: int) -> Values:
    """Let so many launchers wait, then let the last pod run, and return how long until all trainers do."""
    argv = (*made.inside, *ground.ours, "--", *ringing(hung.path))
    with ExitStack() as stack, _pods(made, ADDRESSES[:-1]):
        before = len(made.api.asked("watch"))
        for address in ADDRESSES[:waiting]:
            stack.enter_context(running(argv, made.pod(ground, address, 3)))
        _watching(made, before + waiting)
        begun = time.monotonic()
        with _pods(made, ADDRESSES[-1:]):
            for address in ADDRESSES[waiting:]:
                stack.enter_context(running(argv, made.pod(ground, address, 3)))
            heard = max(hung.hear()[0] for _ in ADDRESSES)
    return {"ms": (heard - begun) * 1e3}


@contextmanager
def _pods(made: Cluster, addresses: tuple[str, ...]) -> Iterator[None]:
    """Let pods run for as long as the body does."""
    names = {f"pod-{address.rpartition('.')[2]}": address for address in addresses}
    made.api.put(*(pod(name, address) for name, address in names.items()))
    yield
    for name in names:
        made.api.remove(name)


def _watching(made: Cluster, number: int) -> None:
    """Wait until so many launchers have asked for news, and have gone to sleep over it."""
    until = time.monotonic() + PATIENCE
    while len(made.api.asked("watch")) < number:
        if time.monotonic() > until:
            raise Unheard(f"{number} launchers were to watch the pods")
        time.sleep(0.01)
    time.sleep(0.2)
