"""The settings of a pod, as values: the nouns that all the rooms share.

No I/O here. `variables` reads them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from launcher import contract
from launcher.pod.settings.arguments import Flags

NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")  # of Kubernetes
TURNS = contract.MEETING_TURNS
# Of all members together, as many as cost a leader a small part of a processor (bench/swarm.py).
POLLS_A_SECOND = 400
LAP = 2 / 9  # of LAUNCHER_PEER_TIMEOUT, a third of the lease: in it each member polls its leader once


class Runtime(StrEnum):
    """What is launched: Paddle's v1 command line, Paddle 2.x's fleet, or any command by what its framework reads."""

    V1 = "v1"
    FLEET = "fleet"
    ENV = "env"
    TORCH = "torch"
    JAX = "jax"
    PADDLE = "paddle"
    TENSORFLOW = "tensorflow"
    XGBOOST = "xgboost"
    LIGHTGBM = "lightgbm"

    @property
    def has_pservers(self) -> bool:
        """Whether some of the programs are parameter servers."""
        return self in (Runtime.V1, Runtime.FLEET)


class Role(StrEnum):
    """What this pod runs: a pserver and a trainer (node), or one of them."""

    NODE = contract.NODE
    PSERVER = contract.PSERVER
    TRAINER = contract.TRAINER


class PeersFrom(StrEnum):
    """Where the peers are found."""

    KUBERNETES = "kubernetes"
    DNS = "dns"
    STATIC = "static"
    SELF = "self"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """Where the peers are found, and under which names: one group, or pservers and trainers apart."""

    source: PeersFrom
    pservers: tuple[str, ...] = ()
    trainers: tuple[str, ...] = ()


class Resize(StrEnum):
    """When pods that are ready take part in a training that runs: after its next pass, at once, or never."""

    PASS = "pass"  # noqa: S105  # of a training
    NOW = "now"
    NEVER = "never"


class Notice(StrEnum):
    """The signal that tells programs that their generation ends soon, as planned."""

    NONE = "none"
    TERM = "TERM"
    USR1 = "USR1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Width:
    """How many pods with a trainer the gang has, at the least and at the most, and when that number changes.

    `settle` is how long the first who are there wait for more, `shrink_after` how long the others wait for one lost.
    `spares` may be there beside the most, and take the place of one that is lost; of those that are there a multiple
    of `unit` takes part.
    """

    least: int
    most: int
    settle: float
    shrink_after: float
    resize: Resize
    spares: int = 0
    unit: int = 1

    @property
    def elastic(self) -> bool:
        """Whether it may change, or who takes part in it."""
        return self.least < self.most or self.spares > 0

    def __str__(self) -> str:
        """Return it as it is told to others."""
        more = f", {self.spares} spare{'s' if self.spares > 1 else ''}" if self.spares else ""
        return f"{self.least}:{self.most}{more}" + (f" in units of {self.unit}" if self.unit > 1 else "")

    @property
    def most_pods(self) -> int:
        """How many pods there are at the most, the spares among them."""
        return self.most + self.spares

    def of(self, there: int) -> int:
        """Return how many take part of so many that are there; the others are spares."""
        return min(there, self.most) // self.unit * self.unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The v1 pserver's network flags, of which fleet has the first port, too; and where the other runtimes meet."""

    nic: str  # nothing where nobody said
    first: int
    dense: int
    sparse: int
    meeting: int

    @property
    def last(self) -> int:
        """The last port that a v1 pserver takes."""
        return self.first + self.dense + self.sparse - 1

    def of_generation(self, number: int) -> int:
        """Return a fleet pserver's port in a generation: another one each time, so that left-over trainers meet none.

        Six in turn: one after 7164 to 7169 comes the launcher's own port.
        """
        return self.first + _turn(number)

    def met_in(self, number: int, processes: int) -> int:
        """Return the first port of those at which programs without pservers meet in a generation: in turn, too.

        There is one for each program of a pod.
        """
        return self.meeting + _turn(number) * processes

    def taken(self, runtime: Runtime, processes: int) -> range:
        """Return every port that is taken at some time: all of v1's at once, the others' in turn."""
        first = self.first if runtime.has_pservers else self.meeting
        turns = self.dense + self.sparse if runtime is Runtime.V1 else TURNS
        return range(first, first + turns * processes)


def _turn(generation: int) -> int:
    return (max(generation, 1) - 1) % TURNS


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Every limit in seconds."""

    grace: float
    join: float
    rejoin: float
    peer: float
    stall: float | None
    progress: float | None  # without a step, though the program works

    @property
    def lap(self) -> float:
        """How long it may take until each member has polled its leader once."""
        return self.peer * LAP


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All that a pod was told, checked whole before anything starts."""

    runtime: Runtime
    role: Role
    peers: Peers
    pservers: int  # together with trainers in the first so many pods
    trainers: int  # at the most
    width: Width
    counted_by: str  # the variable that tells how many trainers
    job: str
    gang: str
    namespace: str
    job_uid: str
    job_path: PurePosixPath | None
    config_dir: PurePosixPath | None
    workdir: PurePosixPath
    address: str
    node: str
    index: int | None
    ports: Ports
    processes: int  # trainers in this pod; 0: one for each device that it sees
    threads: int
    stage_threads: int  # 0: as the file system's kind says
    timing: Timing
    max_restarts: int
    nan_fails: bool  # a reported number that is none ends the training
    status_port: int
    record: str
    resume: bool
    prefix: bool | None
    importable: bool  # by programs that have no package `launcher`
    stacks: bool  # whether Python programs can be asked where they stand
    notice: int | None  # the signal that tells programs that their generation ends soon, as planned
    command: tuple[str, ...]
    flags: Flags
    plain_init: bool

    @property
    def job_dir(self) -> PurePosixPath | None:
        """The job's directory on the shared volume."""
        return self.job_path / self.job if self.job_path else None

    @property
    def recorded(self) -> bool:
        """Whether there is a place for the gang's record."""
        return self.record != "none" and bool(self.record or self.job_path)

    @property
    def separated(self) -> bool:
        """Whether pservers and trainers are pods of their own."""
        return self.role is not Role.NODE

    @property
    def members(self) -> int:
        """How many pods the gang has."""
        return self.pservers + self.trainers if self.separated else self.trainers

    @property
    def lap(self) -> float:
        """How long it takes until each member has polled its leader once, in peace."""
        return self.members / POLLS_A_SECOND

    @property
    def owns_root(self) -> bool:
        """Whether `/` is this pod's alone: several static or self lives may share one machine's."""
        return self.peers.source in (PeersFrom.KUBERNETES, PeersFrom.DNS)
