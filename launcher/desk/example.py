"""What can be trained on this machine: Paddle's recommendation, or a stand-in where Paddle cannot be had.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MAKER = "make_data.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A directory of the repository, and all in which one example differs from another."""

    title: str
    directory: Path
    needed: tuple[str, ...]
    # The job's own files among them, as a pattern.
    own: str
    # What start_paddle is told, but for the number of passes, which comes last.
    words: tuple[str, ...]
    passes_flag: str
    passes: int
    env: Mapping[str, str]
    # The Python that draws the curve, where there is one that can.
    painter: Path | None = None


def stand_in(root: Path, environ: Mapping[str, str]) -> Example:
    """Return the example of which `paddle` is a script of ours: ten passes in a few seconds."""
    directory = root / "examples" / "stand_in"
    return Example(
        title="a stand-in for Paddle",
        directory=directory,
        needed=("paddle", "trainer_config.py", MAKER),
        own="trainer_config.py",
        words=(  # as start.sh says it
            "--dot_period=10",
            "--log_period=50",
            "--trainer_count=4",
            "--saving_period=1",
            "--local=0",
            "--use_gpu=0",
            "--config=./trainer_config.py",
        ),
        passes_flag="--num_passes",
        passes=10,
        env={"PATH": f"{directory}:{environ.get('PATH', '/usr/local/bin:/usr/bin:/bin')}"},
    )


def recommendation(root: Path, python: Path) -> Example:
    """Return the example on Paddle's own parameter servers, trained by the Python that has Paddle."""
    return Example(
        title="Paddle's own parameter servers",
        directory=root / "examples" / "recommendation",
        needed=("train.py", MAKER),
        own="*.py",
        words=("--", str(python), "train.py"),
        passes_flag="--passes",
        passes=15,
        env={"PYTHONPATH": str(root)},
        painter=python,
    )
