"""The frameworks that are compared, and how each is started without us: by what it brings, or by hand.

No I/O here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.real.frameworks import JAX, LIGHTGBM, NODES, PADDLE, TENSORFLOW, TORCH, XGBOOST, Example

PODS = NODES
Argv = Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where one of the bare programs is started: its rank, where all are, and what to run."""

    rank: int
    net: str
    port: int
    program: Argv

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(f"{self.net}.{rank + 1}" for rank in range(PODS))

    def at(self, rank: int) -> str:
        """Return address and port of a rank."""
        return f"{self.addresses[rank]}:{self.port}"

    @property
    def on_this_machine(self) -> tuple[str, ...]:
        """Address and port of each where the ports have to differ."""
        return tuple(f"127.0.0.1:{self.port + rank}" for rank in range(PODS))


def _torchrun(spot: Spot) -> tuple[Argv, Mapping[str, str]]:
    python, *program = spot.program
    flags = (f"--nnodes={PODS}", "--nproc-per-node=1", "--max-restarts=3", "--rdzv-backend=c10d", "--rdzv-id=job")
    address = (f"--rdzv-endpoint={spot.at(0)}", f"--local-addr={spot.addresses[spot.rank]}")
    return (python, "-m", "torch.distributed.run", *flags, *address, *program), {}


def _jax(spot: Spot) -> tuple[Argv, Mapping[str, str]]:
    return spot.program, {
        "JAX_COORDINATOR_ADDRESS": spot.at(0),
        "SLURM_JOB_ID": "1",
        "SLURM_STEP_NODELIST": ",".join(spot.addresses),
        "SLURM_NTASKS": str(PODS),
        "SLURM_PROCID": str(spot.rank),
        "SLURM_LOCALID": "0",
    }


def _paddle(spot: Spot) -> tuple[Argv, Mapping[str, str]]:
    python, *program = spot.program
    flags = (f"--master={spot.at(0)}", f"--nnodes={PODS}", f"--rank={spot.rank}", "--nproc_per_node=1")
    where = (f"--host={spot.addresses[spot.rank]}", "--log_dir=log", "--log_level=INFO")
    launch = (python, "-m", "paddle.distributed.launch", *flags, *where)
    return (*launch, *program), {"PADDLE_DISTRI_BACKEND": "gloo"}


def _tensorflow(spot: Spot) -> tuple[Argv, Mapping[str, str]]:
    cluster = {"cluster": {"worker": spot.on_this_machine}, "task": {"type": "worker", "index": spot.rank}}
    return spot.program, {"TF_CONFIG": json.dumps(cluster)}


def _xgboost(spot: Spot) -> tuple[Argv, Mapping[str, str]]:
    return spot.program, {
        "DMLC_TRACKER_URI": spot.addresses[0],
        "DMLC_TRACKER_PORT": str(spot.port),
        "DMLC_TASK_ID": f"{spot.rank:06}",
    }


def _lightgbm(spot: Spot) -> tuple[Argv, Mapping[str, str]]:
    return spot.program, {
        "LIGHTGBM_MACHINES": ",".join(spot.on_this_machine),
        "LIGHTGBM_LISTEN_PORT": str(spot.port + spot.rank),
        "LIGHTGBM_NUM_MACHINES": str(PODS),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One of the examples, and how it is started without us."""

    title: str
    example: Example
    bare: Callable[[Spot], tuple[Argv, Mapping[str, str]]]
    without: str  # what "bare" is, in words


SUBJECTS = (
    Subject(
        title="JAX", example=JAX, bare=_jax,
        without="three processes with the variables of a Slurm step, which `jax.distributed.initialize()` reads",
    ),
    Subject(
        title="Paddle 3.3.1, collective", example=PADDLE, bare=_paddle,
        without="`python -m paddle.distributed.launch --nnodes=3`, three times",
    ),
    Subject(
        title="XGBoost", example=XGBOOST, bare=_xgboost,
        without="its tracker, and three processes with the tracker's address",
    ),
    Subject(title="LightGBM", example=LIGHTGBM, bare=_lightgbm, without="three processes with the list of machines"),
    Subject(
        title="torch", example=TORCH, bare=_torchrun,
        without="`torchrun --nnodes=3 --max-restarts=3 --rdzv-backend=c10d`, three times",
    ),
    Subject(title="TensorFlow", example=TENSORFLOW, bare=_tensorflow, without="three processes with `TF_CONFIG`"),
)  # fmt: skip
