"""What is started: our launcher as an init and in a job, its peers, and the child that rings."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.processes import AS_PROCESS_ONE
from bench.rows import Figures, Measure, in_turns

START_PADDLE = str(Path(sys.executable).parent / "start_paddle")
CHILD = (sys.executable, "-I", "-S", str(Path(__file__).with_name("child.py")))
BUILD = Path(__file__).parent.parent / "build" / "bench"
# Peers that come as Python packages, with the versions that the table speaks of.
PROGRAMS = {"supervisord": "supervisor==4.3.0", "honcho": "honcho==2.0.0", "py-spy": "py-spy==0.4.3"}
MINUTES = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where a benchmark runs: a directory of its own, how thorough it is, who hears how far it is.

    With a `tree`, that tree's launcher is measured, once and without peers, by the address that every version has.
    """

    directory: Path
    quick: bool
    root: bool
    progress: Callable[[str], None]
    tree: Path | None = None

    @property
    def ours(self) -> tuple[str, ...]:
        """The words that start our launcher."""
        return (sys.executable, "-m", "launcher.pod") if self.tree else (START_PADDLE,)

    @property
    def env(self) -> dict[str, str]:
        """The variables by which Python finds our launcher: before what is installed, and never in its directory."""
        return {"PYTHONPATH": str(self.tree), "PYTHONSAFEPATH": "1"} if self.tree else {}

    def rounds(self, thorough: int, quick: int = 3) -> int:
        """Return how many rounds to measure."""
        return 1 if self.tree else quick if self.quick else thorough

    def in_turns(self, ours: Mapping[str, Measure], peers: Mapping[str, Measure], rounds: int) -> Figures:
        """Measure ours and the peers in turns and return each one's figures."""
        if self.tree:
            return in_turns(ours, 1, self.progress, before=0)
        return in_turns({**ours, **peers}, self.rounds(rounds), self.progress)


def ringing(bell: Path) -> tuple[str, ...]:
    """Return a child that rings at once and then sleeps; the shell is the lightest that any machine has."""
    return ("sh", "-c", 'echo > "$0"; exec sleep 1000', str(bell))


def init(ground: Ground) -> dict[str, str]:
    """Return the settings of a launcher that is an init alone."""
    return {"LAUNCHER_PEERS": "self", **ground.env}


def job(ground: Ground, *, runtime: str = "env", pods: int = 1) -> dict[str, str]:
    """Return the settings of a pod of a job with listed peers, which has a volume."""
    volume, workdir = ground.directory / "volume", ground.directory / "work"
    (volume / "job").mkdir(parents=True, exist_ok=True)
    workdir.mkdir(exist_ok=True)
    return {
        "JOB_NAME": "job",
        "JOB_PATH": str(volume),
        "LAUNCHER_WORKDIR": str(workdir),
        "LAUNCHER_RUNTIME": runtime,
        "LAUNCHER_PEERS": "static:" + ",".join(f"127.0.1.{number}" for number in range(1, pods + 1)),
        "POD_IP": "127.0.1.1",
        "LAUNCHER_MAX_RESTARTS": "0",
        **ground.env,
    }


def as_process_one(ground: Ground) -> tuple[str, ...]:
    """Return the words that make a program process 1, as in a container; only root may."""
    return AS_PROCESS_ONE if ground.root else ()


def where(ground: Ground) -> str:
    """Return how a job's launcher runs here, in words."""
    return "as process 1" if ground.root else "not as process 1"


@cache
def tini() -> str | None:
    """Return where tini is, installing Debian's where it is missing and may be."""
    argv = ("apt-get", "-qq", "install", "--yes", "--no-install-recommends", "tini")
    if not shutil.which("tini") and shutil.which("apt-get"):
        subprocess.run(argv, capture_output=True, check=False, timeout=MINUTES)
    return shutil.which("tini")


@cache
def program(name: str) -> str | None:
    """Return where a peer in Python is, in a virtual environment that is made on first use."""
    path, ready = BUILD / "bin" / name, BUILD / "ready"
    wanted = "\n".join(PROGRAMS.values())
    if not ready.exists() or ready.read_text() != wanted:
        quiet = ("--quiet", "--disable-pip-version-check")
        made = subprocess.run((sys.executable, "-m", "venv", "--clear", str(BUILD)), capture_output=True, check=False)
        argv = (str(BUILD / "bin" / "pip"), "install", *quiet, *PROGRAMS.values())
        if made.returncode or subprocess.run(argv, capture_output=True, check=False, timeout=MINUTES).returncode:
            return None
        ready.write_text(wanted)
    return str(path) if path.exists() else None


def supervisord(ground: Ground, bell: Path) -> tuple[str, ...] | None:
    """Return the command line of a supervisord with the ringing child."""
    path = program("supervisord")
    if path is None:
        return None
    settings = ground.directory / "supervisord.conf"
    log = f"logfile={ground.directory / 'supervisord.log'}\npidfile={ground.directory / 'supervisord.pid'}"
    script = ground.directory / "child.sh"
    script.write_text(f"echo > '{bell}'\nexec sleep 1000\n")
    child = f"[program:child]\ncommand=sh {script}\nstdout_logfile=NONE\nstderr_logfile=NONE"
    settings.write_text(f"[supervisord]\nnodaemon=true\n{log}\n{child}\n")
    return (path, "-c", str(settings))
