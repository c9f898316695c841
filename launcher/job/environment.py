"""The variables of a pod's launcher, and so of the training program.

No I/O here.
"""

from __future__ import annotations

from launcher.contract import PSERVER
from launcher.job import entry, places, quantities
from launcher.job.names import Names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from launcher.job.description import Job


def environment(job: Job, role: str) -> dict[str, str]:
    """Return the variables of a role's pods, the user's last: they may set whatever no parameter does."""
    package = job.trainer_package_path
    said = {
        "JOB_NAME": job.job_name,
        "JOB_PATH": places.job_path(job),
        "TRAIN_CONFIG_DIR": package.rstrip("/"),
        **_counts(job, role),
        "LAUNCHER_RUNTIME": "v1" if entry.is_v1(job) else "fleet",
        "LAUNCHER_PEERS": f"dns:{Names(job.job_name, job.together).service}",
        "LAUNCHER_WORKDIR": "/work",
        "LAUNCHER_GRACE": "45",
        # Without a volume that all share there is nothing to keep the gang's record on.
        "LAUNCHER_RECORD": "" if places.job_path(job) else "none",
        "TRAINER_COUNT": _threads(job) if entry.is_v1(job) and role != PSERVER else "",
        "PADDLE_INIT_NUM_PASSES": str(job.passes or ""),
        "PADDLE_CLOUD_CURRENT_DATACENTER": job.datacenter,
        # A user that the image does not know has / for a home, where no program can keep its cache.
        "HOME": "/tmp" if job.restricted else "",  # noqa: S108  # a volume of the pod's own
    }
    return {**{name: value for name, value in said.items() if value}, **job.env}


def _counts(job: Job, role: str) -> dict[str, str]:
    """Return how many there are: the launcher trusts these, never the number of pods that happen to be there."""
    if job.together:
        return {"CONF_PADDLE_GRADIENT_NUM": str(job.trainers)}
    counts = {"PSERVERS": str(job.pservers), "TRAINERS": str(job.trainers)}
    return {"LAUNCHER_ROLE": role, "LAUNCHER_GANG": job.job_name, **counts}


def _threads(job: Job) -> str:
    """Return a v1 trainer's threads: one for each card, else for each core."""
    return str(job.gpu_nums or max(1, quantities.millicores(job.cpu_nums) // 1000))
