"""What a rehearsal on this machine consists of: pods at loopback addresses, their words, environments, directories.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

JOB = "paddle-cluster-job"
CONFIG_DIR = "recommendation"
PORTS_NUM = 2
PORTS_NUM_SPARSE = 2
# From the pserver's first port to the launcher's own, as far apart as their defaults are.
STATUS_OFFSET = 6
# Variables of a job that the shell around the rehearsal may have; in a pod they would be taken for its own.
OF_A_JOB = ("JOB_", "CONF_PADDLE_", "LAUNCHER_", "PADDLE_", "TRAINER", "KUBERNETES_", "PSERVERS", "POD_IP")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """A job to be run here: how many pods, how many passes, which ports, and below which directory."""

    directory: Path
    pods: int
    passes: int
    port: int

    @property
    def volume(self) -> Path:
        """The directory that stands for the shared volume."""
        return self.directory / "volume"

    @property
    def job_dir(self) -> Path:
        """The job's directory on the volume."""
        return self.volume / JOB

    @property
    def config_dir(self) -> Path:
        """Where the job's own files are."""
        return self.job_dir / CONFIG_DIR

    @property
    def output(self) -> Path:
        """Where logs and models come to be."""
        return self.job_dir / "output"

    @property
    def addresses(self) -> tuple[str, ...]:
        """The pods' addresses: all of 127.0.0.0/8 is this machine."""
        return tuple(f"127.0.1.{number}" for number in range(1, self.pods + 1))

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that each pod opens on its address."""
        return (*range(self.port, self.port + PORTS_NUM + PORTS_NUM_SPARSE), self.port + STATUS_OFFSET)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod's life: its command and environment, the directory it works in, where its output goes."""

    address: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    workdir: Path
    stdout: Path
    stderr: Path


def pods_of(rehearsal: Rehearsal, environ: Mapping[str, str], *, stand_in: Path, python: str) -> tuple[Pod, ...]:
    """Return the pods of a rehearsal, each as its manifest would have described it."""
    shared = _shared(rehearsal, environ, stand_in)
    argv = (python, "-m", "launcher.pod", *_flags(rehearsal))
    return tuple(
        _pod(rehearsal.directory / "pods" / address, address, argv, shared) for address in rehearsal.addresses
    )


def _pod(own: Path, address: str, argv: tuple[str, ...], shared: Mapping[str, str]) -> Pod:
    workdir = own / "root"
    env = {**shared, "POD_IP": address, "LAUNCHER_WORKDIR": str(workdir)}
    return Pod(
        address=address, argv=argv, env=env, workdir=workdir, stdout=own / "stdout.log", stderr=own / "stderr.log"
    )


def _shared(rehearsal: Rehearsal, environ: Mapping[str, str], stand_in: Path) -> dict[str, str]:
    """Return what all pods are told: the seed's variables, and where they find each other."""
    around = {name: value for name, value in environ.items() if not name.startswith(OF_A_JOB)}
    return around | {
        "PATH": f"{stand_in}:{environ.get('PATH', '/usr/local/bin:/usr/bin:/bin')}",
        "JOB_NAME": JOB,
        "JOB_PATH": str(rehearsal.volume),
        "JOB_NAMESPACE": "default",
        "TRAIN_CONFIG_DIR": CONFIG_DIR,
        "CONF_PADDLE_NIC": "lo",
        "CONF_PADDLE_PORT": str(rehearsal.port),
        "CONF_PADDLE_PORTS_NUM": str(PORTS_NUM),
        "CONF_PADDLE_PORTS_NUM_SPARSE": str(PORTS_NUM_SPARSE),
        "CONF_PADDLE_GRADIENT_NUM": str(rehearsal.pods),
        "LAUNCHER_PEERS": "static:" + ",".join(rehearsal.addresses),
        "LAUNCHER_STATUS_PORT": str(rehearsal.port + STATUS_OFFSET),
    }


def _flags(rehearsal: Rehearsal) -> tuple[str, ...]:
    """Return what start.sh says to start_paddle."""
    return (
        "--dot_period=10",
        "--log_period=50",
        f"--num_passes={rehearsal.passes}",
        "--trainer_count=4",
        "--saving_period=1",
        "--local=0",
        "--use_gpu=0",
        "--config=./trainer_config.py",
        f"--ports_num_for_sparse={PORTS_NUM_SPARSE}",
    )
