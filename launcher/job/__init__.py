"""A training job described once: manifests for Kubernetes, and the verbs that act on it.

    from launcher import job

    paddle_job = job.PaddleJob(job_name="word2vec", entry_point="python train.py", ...)
    print(paddle_job)                       # YAML
    train() if job.inside() else paddle_job.submit()

Python 3.8 and nothing to install, until a verb is used.
"""

from __future__ import annotations

from launcher.job.acting import inside as inside
from launcher.job.paddlejob import PaddleJob as PaddleJob
from launcher.job.problem import JobError as JobError
from launcher.job.volumes import CephFSVolume as CephFSVolume
from launcher.job.volumes import Volume as Volume
