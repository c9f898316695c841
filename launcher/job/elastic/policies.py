"""When a Job replaces its pods and when it is over; and what a queue may admit of it.

No I/O here. Python 3.8.
"""

from __future__ import annotations

from launcher.contract import PSERVER
from launcher.job.elastic.width import job_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from launcher.job.description import Job

    Json = dict[str, Any]

MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
_COMPLETIONS_FOLLOW = "kueue.x-k8s.io/job-completions-equal-parallelism"


def policies(job: Job, role: str, count: int) -> Json:
    """Return when a role's Job of so many pods replaces one, and when it is over."""
    # One below the number of pods: a failure of all ends the Job within seconds with every pod and log still
    # there, and a single lost pod is replaced; so is the only pod of a job: the verdict ends its second life.
    limit: Json = {"backoffLimit": max(1, count - 1)}
    if role == PSERVER or not job.members:
        return limit
    return {
        **limit,
        # Where nodes come and go, what is evicted, drained or lost with its node is nobody's failure, however often.
        # A pod that somebody deletes is one; what is scaled or suspended away never counts.
        "podFailurePolicy": {
            "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
        },
        # Not before the old pod has ended: by default two pods of one index run side by side for a whole grace. The
        # price: the pod of a dead node is replaced only once somebody deletes it by force.
        "podReplacementPolicy": "Failed",
        # A launcher ends with 0 only by the verdict, so that one is enough, and nobody waits for pods that never
        # came. No index: the lowest may be the one that is missing then.
        "successPolicy": {"rules": [{"succeededCount": 1}]},
    }


def partial_admission(job: Job) -> dict[str, str]:
    """Return the annotations by which Kueue admits a part: more than half, which a first start needs."""
    width = job_width(job)
    if width is None or width.fixed or not job.queue:
        return {}
    return {MIN_PARALLELISM: str(max(width.least, width.most // 2 + 1)), _COMPLETIONS_FOLLOW: "true"}
