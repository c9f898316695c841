"""What the API's JSON says of a job and of its pods, as far as the desk asks.

No I/O here. A field that is missing or has the wrong type is read as absent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from launcher.contract import (
    JOB_LABEL,
    KILLED_ANNOTATION,
    PASSES,
    PSERVER,
    PSERVERS_LABEL,
    QUEUE_LABEL,
    SPEC_ANNOTATION,
    TRAINER,
)
from launcher.desk.jobs.pod_trouble import image_trouble, memory_trouble
from launcher.job.elastic.width import MEMBERS_VARIABLE, SPARES_VARIABLE, JobWidth, width_in
from launcher.job.template.injected import BRINGER
from launcher.kube import objects
from launcher.kube.objects import Object, mapping, rows, text_at, whole_number

# A container that waits for one of these gets no further by itself.
_STUCK = {
    "ErrImagePull": "{} image cannot be pulled",
    "ImagePullBackOff": "{} image cannot be pulled",
    "InvalidImageName": "{} image has an invalid name",
    "ErrImageNeverPull": "{} image is not on the node",
    "CreateContainerConfigError": "its container cannot be made",
    "CreateContainerError": "its container cannot be made",
    "RunContainerError": "its container cannot be started",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeJob:
    """One Kubernetes Job of a gang."""

    gang: str
    name: str
    namespace: str = ""
    created: str
    started: str
    ended: str
    wanted: int
    active: int
    ready: int
    succeeded: int
    failed: int
    suspended: bool
    killed: bool  # `kill` has suspended it, at one time
    queue: str
    leaving: bool
    end: str  # Complete, Failed, or nothing
    why: str
    image: str
    spec: Object = field(default_factory=dict)
    requests: Object = field(default_factory=dict)  # of each pod
    limits: Object = field(default_factory=dict)
    passes: str = ""
    registries: tuple[str, ...] = ()
    width: JobWidth | None = None  # of trainers that name one
    replaces: str = ""  # when it makes a pod anew

    @property
    def place(self) -> tuple[str, str]:
        """The namespace, and the job in it that it belongs to."""
        return self.namespace, self.gang

    @property
    def leads(self) -> bool:
        """Whether it is the trainers', which stands for the whole."""
        return bool(self.spec)

    @property
    def short(self) -> bool:
        """Whether it should have more pods than there are, to begin."""
        return not (self.end or self.suspended or self.leaving) and self.active + self.succeeded < self.enough

    @property
    def enough(self) -> int:
        """With how many pods it can run: an elastic one with fewer than it would have."""
        return min(self.width.least, self.wanted) if self.width else self.wanted

    @property
    def most(self) -> int:
        """How many pods have a part in it at the most, for which there have to be shards."""
        return self.width.most if self.width else self.wanted

    @property
    def state(self) -> str:
        """One word for how it is."""
        if self.leaving:
            return "Terminating"
        if self.end:
            return self.end
        if self.suspended:  # a Job keeps its startTime then; a queue may take it away
            waits = "Queued" if self.queue or not self.started else "Suspended"
            return "Killed" if self.killed else waits
        # Those that have succeeded are not ready any more, while the others still run.
        there = self.ready + self.succeeded >= self.enough
        return "Running" if there and (self.active or self.succeeded) else "Starting"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubePod:
    """One pod of a gang."""

    name: str
    role: str
    rank: int
    phase: str
    created: str
    started: str
    ready: bool
    leaving: bool
    node: str
    address: str
    restarts: int
    why: str  # what holds it up, or how it ended
    stuck: bool
    code: int | None
    message: str  # its last words
    container: str
    image: str  # of what holds it up, or of its container
    trouble: str  # with that image; `why` tells it
    begun: bool  # its container has run, so that there is a log
    over: bool
    elastic: bool = False  # of a gang whose width may change

    @property
    def status(self) -> str:
        """One word for how it is."""
        return "Terminating" if self.leaving else self.phase

    @property
    def title(self) -> str:
        """Role and rank, as log lines begin."""
        return f"{self.role}-{self.rank}" if self.rank >= 0 else self.name


def kube_job(found: Object) -> KubeJob:
    """Return what a Job says."""
    metadata, spec, status = mapping(found, "metadata"), mapping(found, "spec"), mapping(found, "status")
    ends = [each for each in rows(status, "conditions") if each.get("status") == "True"]
    end = next((each for each in ends if each.get("type") in ("Complete", "Failed")), {})
    pod = mapping(spec, "template", "spec")
    containers = rows(pod, "containers")
    container = containers[0] if containers else {}
    said = {text_at(each, "name"): text_at(each, "value") for each in rows(container, "env")}
    return KubeJob(
        gang=text_at(mapping(metadata, "labels"), JOB_LABEL) or text_at(metadata, "name"),
        name=text_at(metadata, "name"),
        namespace=text_at(metadata, "namespace"),
        created=text_at(metadata, "creationTimestamp"),
        started=text_at(status, "startTime"),
        ended=text_at(status, "completionTime") or text_at(end, "lastTransitionTime"),
        wanted=whole_number(spec, "parallelism"),
        active=whole_number(status, "active"),
        ready=whole_number(status, "ready"),
        succeeded=whole_number(status, "succeeded"),
        failed=whole_number(status, "failed"),
        suspended=spec.get("suspend") is True,
        killed=KILLED_ANNOTATION in mapping(metadata, "annotations"),
        queue=text_at(mapping(metadata, "labels"), QUEUE_LABEL),
        leaving=bool(metadata.get("deletionTimestamp")),
        end=text_at(end, "type"),
        why=": ".join(filter(None, (text_at(end, "reason"), text_at(end, "message")))),
        image=text_at(container, "image"),
        requests=mapping(container, "resources", "requests"),
        limits=mapping(container, "resources", "limits"),
        passes=said.get(PASSES, ""),
        registries=tuple(filter(None, (text_at(each, "name") for each in rows(pod, "imagePullSecrets")))),
        width=_width(said),
        replaces=text_at(spec, "podReplacementPolicy"),
        spec=_asked(mapping(metadata, "annotations").get(SPEC_ANNOTATION)),
    )


def _width(said: Mapping[str, str]) -> JobWidth | None:
    """Return how many pods a Job may have by its variables: pservers' have those of the trainers, too."""
    if said.get("LAUNCHER_ROLE") == PSERVER:
        return None
    return width_in(said.get(MEMBERS_VARIABLE), said.get(SPARES_VARIABLE))


def kube_pod(found: Object) -> KubePod:
    """Return what a pod says."""
    metadata, spec, status = mapping(found, "metadata"), mapping(found, "spec"), mapping(found, "status")
    labels = mapping(metadata, "labels")
    containers = rows(spec, "containers")
    container = text_at(containers[0], "name") if containers else ""
    states = rows(status, "containerStatuses")
    # They are sorted by name, whatever stands beside the job's own container.
    own = next((each for each in states if each.get("name") == container), states[0] if states else {})
    begun = bool(mapping(own, "state", "running") or _ended(own))
    at = own if begun else _held_up(status) or own
    ended = _ended(at)
    waiting = text_at(mapping(at, "state", "waiting"), "reason")
    ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in rows(status, "conditions"))
    code, index = ended.get("exitCode"), objects.completion_index(metadata)
    images = {text_at(each, "name"): text_at(each, "image") for each in (*rows(spec, "initContainers"), *containers)}
    image = images.get(text_at(at, "name")) or images.get(container, "")
    said = text_at(ended, "message") or text_at(mapping(at, "state", "waiting"), "message")
    trouble = image_trouble(said, image, text_at(at, "name"))
    return KubePod(
        name=text_at(metadata, "name"),
        role=PSERVER if PSERVERS_LABEL in labels else TRAINER,
        rank=-1 if index is None else index,
        phase=text_at(status, "phase") or "Pending",
        created=text_at(metadata, "creationTimestamp"),
        started=text_at(status, "startTime"),
        ready=ready,
        leaving=bool(metadata.get("deletionTimestamp")),
        node=text_at(spec, "nodeName"),
        address=text_at(status, "podIP"),
        restarts=whole_number(own, "restartCount"),
        why=_why(status, at, ended, trouble or memory_trouble(ended, labels, containers)),
        stuck=waiting in _STUCK or bool(trouble),
        code=code if isinstance(code, int) else None,
        message=text_at(ended, "message"),
        container=container,
        image=image,
        trouble=trouble,
        begun=begun and not trouble,
        over=text_at(status, "phase") in ("Succeeded", "Failed"),
        elastic=bool(containers) and any(each.get("name") == MEMBERS_VARIABLE for each in rows(containers[0], "env")),
    )


def _ended(container: Object) -> Object:
    return mapping(container, "state", "terminated") or mapping(container, "lastState", "terminated")


def _held_up(status: Object) -> Object:
    """Return the init container that gets no further, or has failed, an empty one where there is none."""
    for each in rows(status, "initContainerStatuses"):
        stuck = text_at(mapping(each, "state", "waiting"), "reason") in _STUCK
        if stuck or mapping(each, "state", "terminated").get("exitCode") not in (None, 0):
            return each
    return {}


def in_order(pods: Iterable[KubePod]) -> tuple[KubePod, ...]:
    """Return pods by role, trainers first, and by rank."""
    return tuple(sorted(pods, key=lambda each: (each.role != TRAINER, each.rank, each.started, each.name)))


def newest_warning(events: Iterable[Object], jobs: Collection[str], pods: Iterable[KubePod]) -> str:
    """Return the newest warning about these Jobs, nothing where a pod of that Job was made after it."""
    found = max(
        (
            (_to_the_second(event_time(each)), each)
            for each in events
            if text_at(mapping(each, "involvedObject"), "name") in jobs
        ),
        key=lambda each: each[0],
        default=None,
    )
    if found is None:
        return ""
    when, event = found
    about = text_at(mapping(event, "involvedObject"), "name")
    if any(pod.created > when for pod in pods if pod.name.startswith(f"{about}-")):
        return ""
    return f"{text_at(event, 'reason')}: {' '.join(text_at(event, 'message').split())}"


def event_time(event: Object) -> str:
    """Return when an event last came: newer ones have another field."""
    return next(filter(None, (text_at(event, name) for name in ("lastTimestamp", "eventTime", "firstTimestamp"))), "")


def _to_the_second(when: str) -> str:
    """Return a time without its parts of a second, which newer events have, and pods have not."""
    return f"{when[:19]}Z" if when else ""


def _why(status: Object, own: Object, ended: Object, remedy: str) -> str:
    for condition in rows(status, "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return f"no node takes it: {text_at(condition, 'message')}"
    waiting = mapping(own, "state", "waiting")
    if reason := text_at(waiting, "reason"):
        whose = "the launcher's" if text_at(own, "name") == BRINGER else "its"
        told = f"{_STUCK[reason].format(whose)} ({reason})" if reason in _STUCK else reason
        told = ": ".join(filter(None, (told, text_at(waiting, "message"))))
        return f"{told}; {remedy}" if remedy else told
    code = ended.get("exitCode")
    if code is not None:
        said = text_at(ended, "reason")
        said = "" if said in ("Error", "Completed") else said
        said = "; ".join(filter(None, (said, remedy)))
        return f"ended with {code}" + (f" ({said})" if said else "")
    return ": ".join(filter(None, (text_at(status, "reason"), text_at(status, "message"))))


def _asked(note: object) -> Object:
    if not isinstance(note, str) or len(note) >= 65536:
        return {}
    found = objects.parsed_json(note)
    return found if isinstance(found, dict) else {"unreadable": True}
