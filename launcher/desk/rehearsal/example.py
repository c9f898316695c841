"""What can be trained on this machine: Paddle's recommendation, a stand-in for it, or a job as it is submitted.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.contract import PASSES, TRAINER
from launcher.job import entry
from launcher.job.description import Job

MAKER = "make_data.py"
STAND_IN, RECOMMENDATION = "stand-in", "recommendation"
EXAMPLES = (STAND_IN, RECOMMENDATION)  # as --example names them
START_SH = (  # as it says them
    "--dot_period=10",
    "--log_period=50",
    "--trainer_count=4",
    "--saving_period=1",
    "--local=0",
    "--use_gpu=0",
    "--config=./trainer_config.py",
)
V1_PASSES = 10  # start.sh's, too
SAID = ("LAUNCHER_RUNTIME", "LAUNCHER_PROCESSES", "LAUNCHER_MAX_RESTARTS", PASSES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A directory with a program, and all in which one example differs from another."""

    title: str
    directory: Path
    needed: tuple[str, ...]
    # The job's own files among them, as a pattern; without one all that is there, and no data is made.
    own: str
    # What start_paddle is told, but for the number of passes, which comes last where there is a flag for it.
    words: tuple[str, ...]
    passes_flag: str
    passes: int  # 0: only the program knows
    env: Mapping[str, str]
    # Whether its Python, which is not the launcher's, is to find the launcher's package: that alone, none beside it.
    imports_us: bool = False

    @property
    def processes(self) -> str:
        """How many programs each pod runs: a number, or gpu."""
        return self.env.get("LAUNCHER_PROCESSES", "1")

    @property
    def has_pservers(self) -> bool:
        """Whether each pod is a pserver beside its trainer."""
        return self.env.get("LAUNCHER_RUNTIME") not in entry.WITHOUT_PSERVERS


def stand_in(examples: Path, python: Path, environ: Mapping[str, str]) -> Example:
    """Return the example of which `paddle` is a script of ours, run by this Python: ten passes in a few seconds."""
    directory = examples / "stand_in"
    return Example(
        title="a stand-in for Paddle",
        directory=directory,
        needed=("paddle", "trainer_config.py", MAKER),
        own="trainer_config.py",
        words=START_SH,
        passes_flag="--num_passes",
        passes=10,
        env={"PATH": f"{directory}:{python.parent}:{environ.get('PATH', '/usr/local/bin:/usr/bin:/bin')}"},
    )


def recommendation(examples: Path, python: Path) -> Example:
    """Return the example on Paddle's own parameter servers, trained by the Python that has Paddle."""
    return Example(
        title="Paddle's own parameter servers",
        directory=examples / "recommendation",
        needed=("train.py", MAKER),
        own="*.py",
        words=("--", str(python), "train.py"),
        passes_flag="--passes",
        passes=15,
        env={},
        imports_us=True,
    )


def submitted(job: Job, package: Path) -> Example:
    """Return a job of this package as its trainers would run it."""
    told = entry.environment(job, TRAINER)
    v1 = entry.is_v1(job)
    flags = (*START_SH, f"--num_passes={V1_PASSES}", f"--trainer_count={told['TRAINER_COUNT']}") if v1 else ()
    return Example(
        title="Paddle's v1 command line" if v1 else job.entry_point,
        directory=package,
        needed=(job.topology,) if job.topology else (),
        own="",
        words=(*flags, *entry.command(job, serves=False)[1:]),  # the first is start.sh or start_paddle itself
        passes_flag="",
        passes=(job.passes or V1_PASSES) if v1 else 0,
        env={**{name: told[name] for name in SAID if name in told}, **job.env},
        imports_us=True,
    )
