"""What is wrong with how wide a job may be, as sentences; and what an elastic job cannot do without.

No I/O here. Python 3.8.
"""

from __future__ import annotations

from launcher.job import places
from launcher.job.elastic.width import MOST_PODS, job_width
from launcher.job.problem import Mistake, Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from launcher.job.description import Job

_SUCH_AS = "expected MIN:MAX, such as 2:5"


def width_problems(job: Job) -> Iterator[Mistake]:
    """Yield a sentence for each thing that is wrong with the numbers."""
    members, spares = Parameter("members", job.members), Parameter("spares", job.spares)
    if job.spares is not None and not _is_count(job.spares):
        yield Mistake(spares, f": expected a whole number from 0 to {MOST_PODS - 1}")
    elif job.spares and not job.members:
        yield Mistake(spares, " without ", Parameter("members", given=False), f": {_SUCH_AS} of them, beside it")
    elif job.members:
        yield from _of_members(job, members)


def _of_members(job: Job, members: Parameter) -> Iterator[Mistake]:
    width = job_width(job)
    if width is None:
        yield Mistake(members, f": {_SUCH_AS}")
    elif width.least < 1:
        yield Mistake(members, ": expected at least 1 pod, such as 1:5")
    elif width.least > width.most:
        yield Mistake(members, f": the least is more than the most: expected {width.most}:{width.least}")
    elif width.pods > MOST_PODS:
        beside = f" and {width.spares} spares are {width.pods} pods" if width.spares else ""
        yield Mistake(members, f"{beside}: expected at most {MOST_PODS} pods")
    elif isinstance(job.trainers, int) and job.trainers not in (0, width.most):  # 0 is told elsewhere
        given = Parameter("trainers", job.trainers)
        yield Mistake(given, f" is not {width.most}, the most of ", members, ": leave it out")


def elastic_problems(job: Job, *, lent: bool) -> Iterator[Mistake]:
    """Yield what a job lacks whose number of pods may change; a datacenter may still lend it a volume."""
    width, members = job_width(job), Parameter("members", job.members)
    if width is None or width.fixed:
        return
    record = job.env.get("LAUNCHER_RECORD") or ("" if places.job_path(job) else "none")
    if record == "none" and width.least < width.most and not lent:
        halves = " without a record on a volume, where two halves of the gang could each be enough: expected "
        yield Mistake(members, f"{halves}a writable one, of all pods, in ", Parameter("volumes", given=False))


def _is_count(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and 0 <= given < MOST_PODS
