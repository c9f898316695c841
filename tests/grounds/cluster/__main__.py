"""The ground by hand.

    python -m tests.grounds.cluster install      the distribution's packages that it needs
    python -m tests.grounds.cluster build        the binaries, into the cache
    python -m tests.grounds.cluster up           a cluster, until Ctrl-C
    python -m tests.grounds.cluster load FILE    an image's archive, into the cluster that is up
    python -m tests.grounds.cluster clear        what a killed one left behind

Tests use the cluster that is up, instead of one of their own, where they are told so:

    LAUNCHER_TEST_KUBECONFIG=... LAUNCHER_TEST_LOAD="python -m tests.grounds.cluster load" pytest tests/cluster
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.grounds.cluster import Broken, Ground, NoGround, node, packages, state
from tests.grounds.cluster.build import DNS, KUBE, built, cache


def build() -> None:
    """Build what is not built yet."""
    for module in (KUBE, DNS):
        print(built(module))


def up() -> None:
    """Start a cluster and keep it until a signal comes."""
    begun = time.monotonic()
    with Ground.start() as ground:
        print(f"ready after {time.monotonic() - begun:.1f} s:\n  export KUBECONFIG={ground.kubeconfig}")
        print(f"  {ground.kubectl.program} get nodes\nCtrl-C ends it", flush=True)
        # Only now: the programs would inherit the mask.
        signal.pthread_sigmask(signal.SIG_BLOCK, stops := {signal.SIGINT, signal.SIGTERM})
        signal.sigwait(stops)


def clear() -> None:
    """Take away what a killed ground left behind."""
    with state.owned():
        print("nothing is left")


def load(archive: str) -> None:
    """Load an image into every node of the cluster that is up."""
    nodes = [process.pid for name, process in state.alive(cache() / "ground") if name != "control"]
    if not nodes:
        raise NoGround("no cluster is up: say `python -m tests.grounds.cluster up` in another terminal")
    for init in nodes:
        node.load(init, Path(archive))


def main(words: Sequence[str]) -> int:
    """Do what the words say."""
    tasks: dict[tuple[str, int], Callable[..., None]] = {
        ("install", 0): packages.install,
        ("build", 0): build,
        ("up", 0): up,
        ("load", 1): load,
        ("clear", 0): clear,
    }
    task = tasks.get((words[0], len(words) - 1)) if words else None
    if task is None:
        print(__doc__, file=sys.stderr)
        return 64
    try:
        task(*words[1:])
    except (Broken, NoGround) as fault:
        print(f"no ground: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
