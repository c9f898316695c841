"""When a Job replaces its pods and when it is over; and what a queue may admit of it.

No I/O here. Python 3.8. What each policy does around a gang is measured in bench/elastic.md.
"""

from __future__ import annotations

from launcher.contract import PSERVER, TRAINER, Code
from launcher.job.elastic.width import job_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from launcher.job.description import Job

    Json = dict[str, Any]

MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
_COMPLETIONS_FOLLOW = "kueue.x-k8s.io/job-completions-equal-parallelism"
_LOSSES = 3  # of each index; the next one gives it up
# What a pod may end with by itself, while the others train: a launcher's own code, no start, a signal from outside.
_ALONE = (
    *(Code.API, Code.BUG, Code.CANNOT_START, Code.SHARD, Code.JOIN, Code.GANG, Code.SETTINGS),
    *(126, 127, 255),  # of a container runtime: no program, or an end that it did not see, as on a node that was away
    *(128 + number for number in (0, 1, 2, 3, 4, 6, 7, 8, 9, 11, 13, 15)),
)


def policies(job: Job, role: str, count: int) -> Json:
    """Return when a role's Job of so many pods replaces one, and when it is over."""
    if role == PSERVER or not job.members:
        # One below the number of pods: a failure of all ends the Job within seconds with every pod and log still
        # there, and a single lost pod is replaced; so is the only pod of a job: the verdict ends its second life.
        return {"backoffLimit": max(1, count - 1)}
    return {
        # For each index by itself: one whose pods fail again and again is given up, and the others go on; a verdict
        # that fails all ends the Job in a minute or two. A common limit has a common delay, which such a verdict
        # makes minutes long, so that a limit high enough for many losses lets it last for an hour.
        "backoffLimitPerIndex": _LOSSES,
        # Not before the old pod has ended: by default two pods of one index run side by side for a whole grace. The
        # price: the pod of a dead node is replaced only once somebody says that the node is out of service.
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": {
            "rules": [
                # Drained, evicted, preempted, or its node is lost: that costs nothing, however often.
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
                # A program's own code is the verdict of all: no pod is made anew to read it. The others are
                # removed while they end; what they wrote is on the volume.
                {
                    "action": "FailJob",
                    "onExitCodes": {"containerName": TRAINER, "operator": "NotIn", "values": sorted(_ALONE)},
                },
            ]
        },
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
