"""Where a job's volumes are in its pods, and which directory on them is the place of all jobs.

No I/O here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from launcher.contract import is_plain
from launcher.job.volumes import Volume

TYPE_CHECKING = False
if TYPE_CHECKING:
    from launcher.job.description import Job

SECOND = "/home/jobpath"  # the seeds' place for a volume


@dataclass(frozen=True)
class Mount:
    """A volume of the job at a place in its pods."""

    name: str
    path: str
    volume: Volume


def volumes(job: Job) -> tuple[Volume, ...]:
    """Return all volumes of the job, the CephFS first."""
    return (*((job.cephfs_volume.volume(),) if job.cephfs_volume else ()), *job.volumes)


def sources(job: Job) -> tuple[Volume, ...]:
    """Return the volumes' sources, each once: a kubelet waits without end for a pod with one claim twice."""
    return tuple(dict.fromkeys(map(_source, volumes(job))))


def mounts(job: Job) -> tuple[Mount, ...]:
    """Return where the volumes are; one whose path Paddle cannot take is there a second time, for the jobs."""
    numbers = {each: number for number, each in enumerate(sources(job), 1)}
    found = tuple(Mount(volume_name(numbers[_source(each)]), each.mount_path, each) for each in volumes(job))
    first = _writable(found)
    if first and not job.job_path and not is_plain(first.path):
        return (*found, Mount(first.name, SECOND, first.volume))
    return found


def volume_name(number: int) -> str:
    """Return a pod's name for a volume's source, numbered from 1."""
    return f"volume-{number}"


def job_path(job: Job) -> str:
    """Return the directory of all jobs, nothing where no volume can be written to."""
    if job.job_path:
        return job.job_path
    found = mounts(job)
    first = _writable(found)
    if first is None:
        return ""
    # The second mount of a volume, if there is one, is the last.
    return f"{first.path.rstrip('/') if is_plain(first.path) else found[-1].path}/jobs"


def is_on_volume(path: str, found: tuple[Mount, ...]) -> bool:
    """Return whether a directory is on one of these volumes and can be written to."""
    over = [each for each in found if f"{path}/".startswith(f"{each.path.rstrip('/')}/")]
    return bool(over) and not max(over, key=lambda each: len(each.path)).volume.read_only


def _writable(found: tuple[Mount, ...]) -> Mount | None:
    return next((each for each in found if not each.volume.read_only), None)


def _source(volume: Volume) -> Volume:
    return replace(volume, mount_path="", sub_path="", read_only=False)
