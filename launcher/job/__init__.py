"""A training job described once: manifests for Kubernetes, and the verbs that act on it.

    from launcher import job

    paddle_job = job.PaddleJob(job_name="word2vec", entry_point="python train.py", ...)
    print(paddle_job)                       # YAML
    train() if job.inside() else paddle_job.submit()

Python 3.8 and nothing to install, until a verb is used.
"""

from __future__ import annotations

from launcher.job.acting import inside
from launcher.job.paddlejob import JobByName, PaddleJob, get, jobs
from launcher.job.problem import JobError
from launcher.job.values import JobEvent as Event
from launcher.job.values import JobStatus as Status
from launcher.job.values import JobWorker as Worker
from launcher.job.values import LogLine as Line
from launcher.job.volumes import CephFSVolume, Volume

__all__ = [
    "CephFSVolume",
    "Event",
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
