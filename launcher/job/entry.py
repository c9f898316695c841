"""What a pod runs, Paddle's v1 command line or a program on Paddle's parameter servers, and with which variables.

No I/O here. No shell anywhere: an entry is split into words as a shell would, and they stay words.
"""

from __future__ import annotations

import re
import shlex

from launcher.contract import PACKAGE_MOUNT, PASSES, PSERVER
from launcher.job import places, quantities
from launcher.job.elastic.width import width_variables
from launcher.job.names import Names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from launcher.job.description import Job

V1 = ("paddle", "train")
FLEET = "fleet"
# The launcher's runtimes for programs without pservers, as `launcher.pod.settings.nouns` has them.
WITHOUT_PSERVERS = ("env", "torch", "jax", "paddle", "tensorflow", "xgboost", "lightgbm")
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
# Whole words that join commands, a `;` at a word's end, redirections at its beginning, and what is replaced anywhere.
_OF_SHELL = re.compile(r"^(?:&&|\|\|?|\|&|;|&)$|;$|^[0-9]*&?[<>].*|\$[A-Za-z_({].*|`.*")


def words(entry: str) -> tuple[str, ...]:
    """Return an entry's words; a ValueError tells of a quote that is not closed."""
    return tuple(shlex.split(entry))


def of_shell(entry: str) -> str:
    """Return the first thing that only a shell would understand, outside of quotes; as words it would do nothing."""
    bare = _QUOTED.sub("q", entry)
    for word in bare.split():
        if found := _OF_SHELL.search(word):
            return found.group()
    return ""


def is_v1(job: Job) -> bool:
    """Return whether `paddle train` is meant: it is said, or there is a config file for it."""
    return not job.runtime and (bool(job.topology) or words(job.entry_point)[:2] == V1)


def command(job: Job, serves: bool) -> tuple[str, ...]:
    """Return a container's words; a v1 pserver takes none of the trainer's flags."""
    if not is_v1(job):
        return ("start_paddle", "--", *words(job.entry_point))
    return ("/root/start.sh", *(() if serves else _flags(job)))


def _flags(job: Job) -> tuple[str, ...]:
    """Return the flags after start.sh's own: of a flag given twice Paddle takes the last."""
    own = (f"--config=./{job.topology}",) if job.topology else ()
    passes = (f"--num_passes={job.passes}",) if job.passes is not None else ()
    gpus = ("--use_gpu=1",) if job.gpu_nums else ()
    return (*own, *passes, *gpus, *words(job.entry_point)[2:])


def environment(job: Job, role: str) -> dict[str, str]:
    """Return the variables of a role's pods, the user's last: they may set whatever no parameter does."""
    package = PACKAGE_MOUNT if job.local_package else job.trainer_package_path
    said = {
        "JOB_NAME": job.job_name,
        "JOB_PATH": places.job_path(job),
        "TRAIN_CONFIG_DIR": package.rstrip("/"),
        **_counts(job, role),
        "LAUNCHER_RUNTIME": "v1" if is_v1(job) else job.runtime or FLEET,
        "LAUNCHER_PEERS": f"dns:{Names(job.job_name, job.together).service}",
        "LAUNCHER_WORKDIR": "/work",
        "LAUNCHER_GRACE": "45",
        # Without a volume that all share there is nothing to keep the gang's record on.
        "LAUNCHER_RECORD": "" if places.job_path(job) else "none",
        "LAUNCHER_PROCESSES": "" if job.processes is None else str(job.processes),
        "LAUNCHER_MAX_RESTARTS": "" if job.restarts is None else str(job.restarts),
        "LAUNCHER_IMPORTABLE": "on" if job.here else "",
        "TRAINER_COUNT": _threads(job) if is_v1(job) and role != PSERVER else "",
        PASSES: str(job.passes or ""),
        "PADDLE_CLOUD_CURRENT_DATACENTER": job.datacenter,
        # A user that the image does not know has / for a home, where no program can keep its cache.
        "HOME": "/tmp" if job.restricted else "",  # noqa: S108  # a volume of the pod's own
    }
    return {**{name: value for name, value in said.items() if value}, **job.env}


def _counts(job: Job, role: str) -> dict[str, str]:
    """Return how many there are: the launcher trusts these, never the number of pods that happen to be there."""
    width = width_variables(job) if job.members else {}
    if job.together:
        return width or {"CONF_PADDLE_GRADIENT_NUM": str(job.trainers)}
    counts = {"PSERVERS": str(job.pservers), **(width or {"TRAINERS": str(job.trainers)})}
    return {"LAUNCHER_ROLE": role, "LAUNCHER_GANG": job.job_name, **counts}


def _threads(job: Job) -> str:
    """Return a v1 trainer's threads: one for each card, else for each core."""
    return str(job.gpu_nums or max(1, quantities.millicores(job.cpu_nums) // 1000))
