"""What a rehearsal on this machine consists of: pods at loopback addresses, their words, environments, directories.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.contract import MEETING_PORT, MEETING_TURNS, OUTPUT, PSERVER_PORT
from launcher.desk.rehearsal.example import Example

JOB = "paddle-cluster-job"
CONFIG_DIR, PACKAGE = "recommendation", "package"  # as the seeds call it, and as `submit` does
_MEETINGS = 8
MOST_CARDS = 16  # that one machine has
PORTS_NUM = 2
PORTS_NUM_SPARSE = 2
# From the pserver's first port to the launcher's own, as far apart as their defaults are; those between are a v1
# pserver's others, or those that a fleet pserver moves to when it is started again.
STATUS_OFFSET = 6
# Variables of a job that the shell around the rehearsal may have; in a pod they would be taken for its own.
OF_A_JOB = ("JOB_", "CONF_PADDLE_", "LAUNCHER_", "PADDLE_", "TRAINER", "KUBERNETES_", "PSERVERS", "POD_IP")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """A job to be run here: of which example, how many pods and passes, which ports, and below which directory."""

    example: Example
    directory: Path
    pods: int
    passes: int
    port: int
    meeting: int = MEETING_PORT
    job: str = JOB

    @property
    def volume(self) -> Path:
        """The directory that stands for the shared volume."""
        return self.directory / "volume"

    @property
    def job_dir(self) -> Path:
        """The job's directory on the volume."""
        return self.volume / self.job

    @property
    def config_dir(self) -> Path:
        """Where the job's own files are."""
        return self.job_dir / (CONFIG_DIR if self.example.own else PACKAGE)

    @property
    def output(self) -> Path:
        """Where logs and models come to be."""
        return self.job_dir / OUTPUT

    @property
    def library(self) -> Path:
        """Where another Python finds the launcher's package, and none of the packages beside it."""
        return self.directory / "python"

    @property
    def report(self) -> Path:
        """The gang's story as a page."""
        return self.directory / "report.html"


def addresses(pods: int) -> tuple[str, ...]:
    """Return an address for each pod: all of 127.0.0.0/8 is this machine."""
    return tuple(f"127.0.1.{number}" for number in range(1, pods + 1))


def ports(first: int) -> range:
    """Return the ports that a pod opens on its address, or may."""
    return range(first, first + STATUS_OFFSET + 1)


def meetings(first: int, pods: int, processes: str = "1") -> tuple[range, ...]:
    """Return blocks of ports at which programs without pservers may meet, as far from a pod's first as by default.

    Each generation takes other ports, one for each program of a pod; where pods differ by theirs, each has so many of
    its own.
    """
    programs = int(processes) if processes.isdecimal() else MOST_CARDS
    begin, size = first + MEETING_PORT - PSERVER_PORT, MEETING_TURNS * pods * programs
    return tuple(range(begin + number * size, begin + (number + 1) * size) for number in range(_MEETINGS))


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalPod:
    """One pod's life: its command and environment, the directory it works in, where its output goes."""

    address: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    workdir: Path
    stdout: Path
    stderr: Path


def pods_of(rehearsal: Rehearsal, environ: Mapping[str, str], python: str) -> tuple[RehearsalPod, ...]:
    """Return the pods, each as its manifest would have described it; their launchers run in this Python."""
    shared = _shared(rehearsal, environ)
    example = rehearsal.example
    passes = (f"{example.passes_flag}={rehearsal.passes}",) if example.passes_flag else ()
    argv = (python, "-m", "launcher.pod", *example.words, *passes)
    own = rehearsal.directory / "pods"
    return tuple(_pod(own / address, address, argv, shared) for address in addresses(rehearsal.pods))


def _pod(own: Path, address: str, argv: tuple[str, ...], shared: Mapping[str, str]) -> RehearsalPod:
    workdir = own / "root"
    env = {**shared, "POD_IP": address, "LAUNCHER_WORKDIR": str(workdir)}
    return RehearsalPod(
        address=address, argv=argv, env=env, workdir=workdir, stdout=own / "stdout.log", stderr=own / "stderr.log"
    )


def _shared(rehearsal: Rehearsal, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of all pods: the seed's, each other's addresses, and the example's own."""
    around = {name: value for name, value in environ.items() if not name.startswith(OF_A_JOB)}
    around.update(rehearsal.example.env)
    said = {
        "JOB_NAME": rehearsal.job,
        "JOB_PATH": str(rehearsal.volume),
        "JOB_NAMESPACE": "default",
        "TRAIN_CONFIG_DIR": rehearsal.config_dir.name,
        "CONF_PADDLE_NIC": "lo",
        "CONF_PADDLE_PORT": str(rehearsal.port),
        "CONF_PADDLE_PORTS_NUM": str(PORTS_NUM),
        "CONF_PADDLE_PORTS_NUM_SPARSE": str(PORTS_NUM_SPARSE),
        "CONF_PADDLE_GRADIENT_NUM": str(rehearsal.pods),
        "LAUNCHER_PEERS": "static:" + ",".join(addresses(rehearsal.pods)),
        "LAUNCHER_PORTS": str(rehearsal.meeting),
        "LAUNCHER_STATUS_PORT": str(rehearsal.port + STATUS_OFFSET),
    }
    paths = filter(None, (str(rehearsal.library), around.get("PYTHONPATH")))
    ours = {"PYTHONPATH": ":".join(paths)} if rehearsal.example.imports_us else {}
    return {**around, **said, **ours}
