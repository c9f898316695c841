"""Word vectors from five words in a row. The same file submits the job, and trains when the job runs it.

python train.py            at the desk, or in the runtime image with a kubeconfig: submits
python train.py            in the job's pods: serves or trains
python train.py --alone    on this machine, without parameter servers
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import grams

# In a checkout the launcher's package is two directories up; an image has it where its Python finds it.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from launcher import here, job
from launcher.bridge import failure
from launcher.bridge.failure import TrainingFailure
from launcher.bridge.fleet_role import fleet_role
from launcher.dataset import DatasetError, dist_reader

Rows = Any  # numpy's, which submitting does without


def described() -> job.PaddleJob:
    """Return the job; what is particular to a cluster may be said by its environment."""
    return job.PaddleJob(
        job_name="word2vec",
        runtime_image=os.environ.get("RUNTIME_IMAGE", "your-repo/paddle-job"),
        pservers=2,
        trainers=3,
        cpu_num=1,
        memory="1Gi",
        trainer_package_path="/example/word2vec",
        entry_point="python train.py --data=/mnt/cephfs/word2vec",
        cephfs_volume=job.CephFSVolume(monitors_addr=os.environ.get("CEPH_MONITORS", "172.19.32.166:6789")),
    )


def main(words: Sequence[str] | None = None) -> None:
    """Submit, serve or train."""
    given = _parse(words)
    if given.alone or job.inside():
        train(given)
        return
    try:
        told = described().submit(replace=given.replace)
    except job.JobError as error:
        raise TrainingFailure(1, str(error)) from None
    print(f"{told['name']} is submitted to namespace {told['namespace']}; paddlectl logs -f {told['name']} shows it")


def train(given: argparse.Namespace) -> None:
    """Be a pserver, or a trainer of this one's lines."""
    from launcher.bridge.engine import Session

    role = fleet_role(os.environ)
    session = Session(role, given.output)
    import model  # needs numpy: a session tells with a sentence where that is missing

    network = model.build(session)
    session.minimize(network.cost, given.learning_rate)
    if role.serves:
        print(f"pserver {role.rank} of {len(role.pservers)}", flush=True)
        session.serve()
        return
    lines = _lines(given.data / grams.GRAMS)
    start, directory = here.resume()
    session.begin(directory)
    print(f"trainer {role.rank} of {role.trainers}: {len(lines)} lines", flush=True)
    for number in range(start, given.passes):
        began = time.monotonic()
        cost = session.learn(number, _batches(lines, given.batch, seed=1000 * number + role.rank))
        session.together(f"pass-{number}")
        here.progress(pass_=number, cost=cost)
        print(f" Pass={number} AvgCost={cost:.4f} seconds={time.monotonic() - began:.1f}", flush=True)
        session.save(number)
    session.finish()


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    output = Path(os.environ.get("JOB_PATH", ""), os.environ.get("JOB_NAME", ""), "output")
    passes = int(os.environ.get("PADDLE_INIT_NUM_PASSES") or 5)
    parser.add_argument("--data", type=Path, default=Path("data"), help="what prepare.py made (./data)")
    parser.add_argument("--output", default=str(output), help="for the passes (the job's, or ./output)")
    parser.add_argument("--passes", type=int, default=passes, help="the job's, or 5")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--learning-rate", type=float, default=0.004)
    parser.add_argument("--alone", action="store_true", help="train here, and submit nothing")
    parser.add_argument("--replace", action="store_true", help="submit in the place of the job of that name")
    return parser.parse_args(words)


def _lines(path: Path) -> Rows:
    """Return this trainer's lines as rows of numbers."""
    import numpy as np

    try:
        rows = list(dist_reader(str(path), here.trainers(), here.rank())())
    except (DatasetError, OSError) as error:
        raise TrainingFailure(failure.BAD_DATA, f"train: {error}: expected what prepare.py makes") from None
    if not rows or any(len(row) != grams.WINDOW or not 0 <= max(row) < grams.WORDS for row in rows):
        raise TrainingFailure(
            failure.BAD_DATA, f"train: {path}: expected lines of {grams.WINDOW} numbers below {grams.WORDS}"
        )
    return np.array(rows, "int64")


def _batches(rows: Rows, size: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield all rows once, in an order that follows from the seed."""
    import numpy as np

    order = np.random.RandomState(seed).permutation(len(rows))
    for begin in range(0, len(order), size):
        some = rows[order[begin : begin + size]]
        yield {"before": some[:, :-1], "following": some[:, -1:]}


if __name__ == "__main__":
    failure.leave(failure.code_of(main))
