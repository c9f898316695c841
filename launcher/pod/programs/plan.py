"""What is to run in this pod: programs with their words and environment, all fixed before anything starts.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from launcher.pod.peers.roster import Roster
from launcher.pod.settings.nouns import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One process to run: who it is, its argv, its environment, its log's file name, the ports that it opens.

    `env` is set in any case, `defaults` where the pod has no such variable.
    """

    role: Role
    rank: int
    local: int = 0  # its number among the trainers of its pod
    argv: tuple[str, ...]
    env: Mapping[str, str]
    log: str
    defaults: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    title: str = ""  # where it is not its role
    files: Mapping[str, str] = field(default_factory=dict)  # in the working directory, by name

    @property
    def name(self) -> str:
        """The name that its lines and messages carry."""
        return f"{self.title or self.role} {self.rank}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The programs of this pod, in the order in which they start; `node` is the pod's own number."""

    node: int
    programs: tuple[Program, ...]

    @property
    def trainers(self) -> tuple[Program, ...]:
        """Its trainers, by their numbers in the pod."""
        return tuple(program for program in self.programs if program.role is Role.TRAINER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """Where training goes on: the first pass to run, and the directory of the last complete one."""

    start_pass: int
    directory: str


def plan(roster: Roster, *, pserver: Program | None, trainers: Sequence[Program]) -> Plan:
    """Return the programs that this pod's role asks for; a pserver starts before its trainer."""
    wanted = (pserver if roster.serves else None, *(trainers if roster.role is not Role.PSERVER else ()))
    return Plan(node=roster.rank, programs=tuple(program for program in wanted if program))


def identity(roster: Roster, local: int = 0, processes: int = 1) -> dict[str, str]:
    """Return what every training program may read about itself, by the names of the seeds; `local` is its number."""
    trainer = {} if roster.role is Role.PSERVER else {"TRAINER_ID": str(roster.rank * processes + local)}
    if trainer:
        trainer["PADDLE_INIT_TRAINER_ID"] = trainer["TRAINER_ID"]
    trainers = str(len(roster.trainers) * processes)
    return trainer | {
        "TRAINERS": trainers,
        "PADDLE_INIT_NUM_GRADIENT_SERVERS": trainers,
        "PADDLE_INIT_PSERVERS": ",".join(peer.address for peer in roster.pservers),
        "POD_IP": roster.me.address,
        "LAUNCHER_NODE_RANK": str(roster.rank),
    }


def importing(environ: Mapping[str, str], directory: str) -> dict[str, str]:
    """Return an environment in which Pythons find a directory's packages behind those of its PYTHONPATH."""
    paths = ":".join(filter(None, (environ.get("PYTHONPATH"), directory)))
    return {**environ, "PYTHONPATH": paths}


def stackable(environ: Mapping[str, str], directory: str) -> dict[str, str]:
    """Return an environment in which Pythons find a directory's `sitecustomize` before any other."""
    paths = ":".join(filter(None, (directory, environ.get("PYTHONPATH"))))
    return {**environ, "PYTHONPATH": paths}


def endpoint(address: str, port: int) -> str:
    """Return address:port, an IPv6 address in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def resuming(resume: Resume | None) -> dict[str, str]:
    """Return where training goes on, for programs that are told by their environment."""
    if resume is None:
        return {}
    return {"LAUNCHER_RESUME_DIR": resume.directory, "LAUNCHER_START_PASS": str(resume.start_pass)}
