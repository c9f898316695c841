"""Real training on the cluster: the careful Jobs with train.py as their program, and what came of any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.cluster import Cluster
from tests.cluster.training import manifest
from tests.cluster.volumes import Training, Volume, training_in
from tests.grounds.docker import PADDLE
from tests.support.recommendation import IN_THE_IMAGE, MARGIN, constant, errors, furnish
from tests.support.waiting import wait_until

PASSES = 5  # of train.py; start.sh, for the v1 command, says 10
V1_PASSES = 10
STARTED = 'command: ["/root/start.sh"]'
WORKED_IN = "        - name: LAUNCHER_GRACE\n"


@contextmanager
def real_training_in(cluster: Cluster, directory: Path) -> Iterator[Training]:
    """Make a namespace with a volume, with the recommendation example on it."""
    with training_in(cluster, directory) as training:
        furnish(training.volume.job)
        yield training


def with_fleet(folder: str) -> str:
    """Return a careful Job that trains with train.py, which is in the image."""
    text = manifest(folder, image=PADDLE)
    assert STARTED in text
    command = f'["start_paddle", "--", "python", "{IN_THE_IMAGE}/train.py", "--passes={PASSES}"]'
    text = text.replace(STARTED, f"command: {command}")
    if "LAUNCHER_WORKDIR" not in text:  # start.sh's is /root
        text = text.replace(WORKED_IN, f"        - name: LAUNCHER_WORKDIR\n          value: /root\n{WORKED_IN}")
    return text


def has_passed(volume: Volume, number: int) -> bool:
    """Return whether a pass is complete."""
    return (volume.output / f"pass-{number:05}" / "done").exists()


def await_pass(volume: Volume, number: int) -> None:
    """Wait until a pass is complete: the trainers are in the next one."""
    wait_until(lambda: has_passed(volume, number), timeout=150, every=0.1)


def has_learned(volume: Volume, passes: int, trainers: int = 3) -> dict[int, float]:
    """Hold that all trainers told the same errors, of every pass, the last well below the constant predictor's."""
    logs = [(volume.output / f"node_{rank}" / "train.log").read_text() for rank in range(trainers)]
    told = errors(logs[0])
    print(f"RMSE by pass {told}, of a constant {constant(volume.job):.3f}")
    assert sorted(told) == list(range(passes))
    assert [errors(log) for log in logs] == [told] * trainers
    assert told[passes - 1] < constant(volume.job) - MARGIN
    return told


def is_the_seeds_tree(volume: Volume, passes: int, pservers: int = 3, trainers: int = 3) -> None:
    """Hold that the output has a directory for each node, with its logs, and one for each pass, with `done`."""
    nodes = {f"node_{rank}" for rank in range(max(pservers, trainers))}
    names = {path.name for path in volume.output.iterdir()} - {".launcher", "events.jsonl"}
    assert names == nodes | {f"pass-{number:05}" for number in range(passes)}
    assert all((volume.output / f"node_{rank}" / "server.log").stat().st_size for rank in range(pservers))
    assert all(has_passed(volume, number) for number in range(passes))
