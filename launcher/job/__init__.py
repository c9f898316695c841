"""A training job described once: manifests for Kubernetes, and the verbs that act on it.

    from launcher import job

    paddle_job = job.PaddleJob(job_name="word2vec", entry_point="python train.py", ...)
    print(paddle_job)                       # YAML
    train() if job.inside() else paddle_job.submit()

Python 3.8 and nothing to install, until a verb is used. Each name is imported when it is first asked for: the command
line needs few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launcher.job.acting import inside
    from launcher.job.paddlejob import JobByName, PaddleJob, get, jobs
    from launcher.job.paddlejob import PaddleJob as Job
    from launcher.job.problem import JobError
    from launcher.job.values import JobEvent as Event
    from launcher.job.values import JobStatus as Status
    from launcher.job.values import JobWorker as Worker
    from launcher.job.values import LogLine as Line
    from launcher.job.volumes import CephFSVolume, Volume

__all__ = [
    "CephFSVolume",
    "Event",
    "Job",
    "JobByName",
    "JobError",
    "Line",
    "PaddleJob",
    "Status",
    "Volume",
    "Worker",
    "get",
    "inside",
    "jobs",
]

_HOMES = {
    "CephFSVolume": ("volumes", "CephFSVolume"),
    "Event": ("values", "JobEvent"),
    "Job": ("paddlejob", "PaddleJob"),  # for who has no Paddle
    "JobByName": ("paddlejob", "JobByName"),
    "JobError": ("problem", "JobError"),
    "Line": ("values", "LogLine"),
    "PaddleJob": ("paddlejob", "PaddleJob"),
    "Status": ("values", "JobStatus"),
    "Volume": ("volumes", "Volume"),
    "Worker": ("values", "JobWorker"),
    "get": ("paddlejob", "get"),
    "inside": ("acting", "inside"),
    "jobs": ("paddlejob", "jobs"),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, there = _HOMES[name]
    found: object = getattr(import_module(f"{__name__}.{module}"), there)
    globals()[name] = found
    return found
