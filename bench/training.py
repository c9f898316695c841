"""Real training on this machine: seconds a pass on 1, 2 and 3 nodes, and what of it is the launchers' own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.lives import Ground
from bench.rows import Figure, Row
from bench.trained import Trained, trained
from tests.real import install

NODES = (1, 2, 3)
PASSES = 6
ROUNDS = 2
RATINGS = 48_000  # that are learned from; make_data.py's own number, without those held out
# As large as MovieLens-1M, which is what the seeds' demonstration trains on.
LARGE = ("--ratings=1000000", "--users=6040", "--movies=3900")
LARGE_PASSES = 4
CPU_GOAL, WALL_GOAL = 1, 1


def training(ground: Ground) -> tuple[Row, ...]:
    """Return how long a pass takes with more nodes on the same machine, and how little the launchers take of it."""
    try:
        python = install.python()
    except install.NotHere as error:
        return (Row(what="real training", unit="s", ours=None, against="", note=f"no Paddle: {error}"),)
    found: dict[int, list[Trained]] = {nodes: [] for nodes in NODES}
    for number in range(ground.rounds(ROUNDS, quick=1)):
        for nodes in NODES:
            ground.progress(f"round {number + 1}: {_nodes(nodes)}")
            directory = ground.directory / f"{nodes}-{number}"
            found[nodes].append(trained(directory, python, nodes, PASSES))
    ground.progress(f"{_nodes(NODES[-1])}, 1,000,000 ratings")
    large = trained(ground.directory / "large", python, NODES[-1], LARGE_PASSES, *LARGE)
    return (*_passes(found), *_launchers(found[NODES[-1]], large))


def _passes(found: Mapping[int, Sequence[Trained]]) -> tuple[Row, ...]:
    return tuple(
        Row(
            what=f"real training, {_nodes(nodes)}: a pass over {RATINGS:,} ratings, tested and saved",
            unit="s",
            ours=Figure.of([seconds for each in runs for seconds in each.passes]),
            against="",
        )
        for nodes, runs in found.items()
    )


def _launchers(runs: Sequence[Trained], large: Trained) -> tuple[Row, ...]:
    return (
        Row(
            what=f"real training, {_nodes(NODES[-1])}: the launchers' part of the CPU, of {PASSES} passes in all",
            unit="%",
            ours=Figure.of([100 * each.launchers_cpu / each.cpu for each in runs]),
            against="",
            goal=CPU_GOAL,
        ),
        Row(
            what=f"real training, {_nodes(NODES[-1])}: the same, of {LARGE_PASSES} passes over 1,000,000 ratings",
            unit="%",
            ours=Figure.of([100 * large.launchers_cpu / large.cpu]),
            against="",
            goal=CPU_GOAL,
        ),
        Row(
            what=f"real training, {_nodes(NODES[-1])}: a launcher's CPU in a second of training",
            unit="ms",
            ours=Figure.of([1000 * each.launchers_each_second for each in runs]),
            against="",
        ),
        Row(
            what=f"real training, {_nodes(NODES[-1])}: a launcher's memory at the most",
            unit="MB",
            ours=Figure.of([each.launchers_memory for each in runs]),
            against="",
        ),
        Row(
            what=f"real training, {_nodes(NODES[-1])}: the launchers' own wall time, besides staging",
            unit="s",
            ours=Figure.of([each.launchers_wall for each in runs]),
            against="",
            goal=WALL_GOAL,
        ),
    )


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
