"""How many pods of a job train: any number from the least to the most, and spares beside them.

No I/O here. Python 3.8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from launcher.job.description import Job

MEMBERS_VARIABLE, SPARES_VARIABLE = "LAUNCHER_MEMBERS", "LAUNCHER_SPARES"
MOST_PODS = 1000
_MIN_MAX = re.compile(r"([0-9]{1,6})(?::([0-9]{1,6}))?")


@dataclass(frozen=True)
class JobWidth:
    """How many pods a gang has at the least and at the most, and how many spares stand beside them."""

    least: int
    most: int
    spares: int = 0

    def __str__(self) -> str:
        return f"{self._numbers} pods{_spares(self.spares)}"

    @property
    def pods(self) -> int:
        """How many pods there are where there is room for all."""
        return self.most + self.spares

    @property
    def fixed(self) -> bool:
        """Whether there is one number alone."""
        return self.pods == self.least

    def told(self, pods: int) -> str:
        """Return so many pods beside how many there may be: what is above the most is spare."""
        return f"{min(pods, self.most)} of {self._numbers} pods{_spares(pods - self.most)}"

    @property
    def _numbers(self) -> str:
        return f"{self.most}" if self.least == self.most else f"{self.least} to {self.most}"


def _spares(number: int) -> str:
    return "" if number < 1 else f", {number} spare{'' if number == 1 else 's'}"


def width_in(members: object, spares: object = "") -> JobWidth | None:
    """Return the width that MIN:MAX says, or a single number for both; None where it says none."""
    found = _MIN_MAX.fullmatch(members) if isinstance(members, str) else None
    if found is None:
        return None
    beside = int(spares) if isinstance(spares, str) and spares.isdecimal() and len(spares) < 7 else 0
    return JobWidth(int(found[1]), int(found[2] or found[1]), beside)


def job_width(job: Job) -> JobWidth | None:
    """Return the width of a job that names one."""
    return width_in(job.members, str(job.spares or 0))


def most_trainers(members: object, usual: int) -> int:
    """Return how many trainers there are where only the width says it; as many as usual where it says none."""
    width = width_in(members)
    return width.most if width and 1 <= width.most <= MOST_PODS else usual


def pservers_together(members: object, trainers: int) -> int:
    """Return how many pods have a pserver beside their trainer: a run's number, so as many as there always are."""
    width = width_in(members)
    return width.least if width and 1 <= width.least <= width.most else trainers


def trainer_pods(job: Job) -> int:
    """Return how many pods the trainers' Job has, its spares included."""
    return job.trainers + (job.spares or 0)


def width_variables(job: Job) -> dict[str, str]:
    """Return what its launchers are told of it, those of pservers too."""
    return {MEMBERS_VARIABLE: job.members, SPARES_VARIABLE: str(job.spares or "")}
