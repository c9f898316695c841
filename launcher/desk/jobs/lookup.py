"""One job as the cluster has it: its Jobs and its pods, read from the API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launcher.contract import JOB_LABEL
from launcher.desk.errors import Mistyped, Problem
from launcher.desk.jobs import job_state
from launcher.desk.jobs.job_state import KubeJob, KubePod
from launcher.kube import kinds
from launcher.kube.objects import Object, mapping, text_at

if TYPE_CHECKING:
    from launcher.desk.jobs.api_calls import Api


_GOING_ON = "status.phase!=Succeeded,status.phase!=Failed"
# What one of its Jobs has to be for a job to be called so, the first that applies; else it is Running.
_FIRST = ("Failed", "Terminating", "Killed", "Suspended", "Queued", "Starting")
_WORDS = {
    "Complete": "is complete",
    "Failed": "has failed",
    "Killed": "was killed",
    "Queued": "is queued",
    "Running": "is running",
    "Starting": "is starting",
    "Suspended": "is suspended",
    "Terminating": "is being removed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobGang:
    """The Jobs of one job, the trainers' first."""

    jobs: tuple[KubeJob, ...]

    @property
    def lead(self) -> KubeJob:
        """The Job that stands for the whole."""
        return self.jobs[0]

    @property
    def name(self) -> str:
        """The job's name."""
        return self.lead.gang

    @property
    def namespace(self) -> str:
        """Where it is."""
        return self.lead.namespace

    @property
    def state(self) -> str:
        """One word for how it is: it runs when all its pods do, and has failed when one of its Jobs has."""
        states = [each.state for each in self.jobs]
        if self.lead.state in ("Complete", "Killed", "Terminating"):
            return self.lead.state
        return next((state for state in _FIRST if state in states), "Running")

    @property
    def over(self) -> bool:
        """Whether it has ended, by itself or killed."""
        return self.state in ("Complete", "Failed", "Killed")

    @property
    def held(self) -> str:
        """What lets it go on, where it is suspended."""
        if self.state == "Queued" and self.lead.queue:
            return f"the queue {self.lead.queue} starts it"
        return f"`paddlectl resume {self.name}` lets it go on" if self.state in ("Queued", "Suspended") else ""

    @property
    def left(self) -> bool:
        """Whether pods of it that are not there were there once."""
        return self.over or bool(self.held and self.lead.started)

    def told(self) -> str:
        """Return how it is, in a few words."""
        since = self.lead.ended if self.over else "" if self.held else self.lead.started
        return f"job {self.name} {_WORDS[self.state]}" + (f" since {since}" if since else "")


def gang_of(jobs: tuple[KubeJob, ...]) -> JobGang | None:
    """Return the gang that these Jobs are, or None where there is none."""
    return JobGang(jobs=tuple(sorted(jobs, key=lambda each: (not each.leads, each.name)))) if jobs else None


def looked_up(api: Api, name: str) -> JobGang | None:
    """Return a job, or None where there is none of this name."""
    return gang_of(tuple(map(job_state.kube_job, api.listed("Job", kinds.of_job(checked_name(name))))))


def found(api: Api, name: str) -> JobGang:
    """Return a job that has to be there."""
    gang = looked_up(api, name)
    if gang is None:
        raise Problem(f"there is no job {name} in the namespace {api.namespace}: `paddlectl get jobs` lists the jobs")
    return gang


def gang_pods(api: Api, name: str, selector: str = "") -> tuple[KubePod, ...]:
    """Return a job's pods, in order; of them those with these labels."""
    return job_state.in_order(map(job_state.kube_pod, api.listed("Pod", kinds.of_job(name, selector))))


def pods_by_gang(api: Api) -> Mapping[str, tuple[KubePod, ...]]:
    """Return the pods of all jobs of the namespace that have not ended."""
    found: dict[str, list[KubePod]] = {}
    for each in api.listed("Pod", f"{kinds.OURS},{JOB_LABEL}", fields=_GOING_ON):
        labels = mapping(each, "metadata", "labels")
        found.setdefault(text_at(labels, JOB_LABEL), []).append(job_state.kube_pod(each))
    return {name: tuple(pods) for name, pods in found.items()}


def no_queue(api: Api, queue: str) -> str:
    """Return that Kueue does not have a queue, nothing where it has, or nobody may look."""
    there = api.queues() if queue else None
    if there is None or queue in there:
        return ""
    others = f"it has {', '.join(sorted(there))}" if there else "it has none: ask its administrator for one"
    return f"there is no LocalQueue {queue} in the namespace {api.namespace}, {others}"


def gangs(api: Api) -> tuple[JobGang, ...]:
    """Return all jobs, in the order in which the API lists the Jobs that lead them."""
    return gangs_of(map(job_state.kube_job, api.listed("Job", kinds.OURS)))


def gangs_of(jobs: Iterable[KubeJob]) -> tuple[JobGang, ...]:
    """Return the gangs that these Jobs are, in the order of those that lead them."""
    found = tuple(jobs)
    led: dict[tuple[str, str], tuple[KubeJob, ...]] = {}
    for each in found:
        if not each.leads:
            led[each.place] = (*led.get(each.place, ()), each)
    return tuple(JobGang(jobs=(each, *led.get(each.place, ()))) for each in found if each.leads)


def picked(api: Api, found: Sequence[JobGang], selector: str) -> tuple[JobGang, ...]:
    """Return the gangs of which a Job has these labels, whole: what they are, the other Job may know."""
    if not selector:
        return tuple(found)
    there = api.listed("Job", f"{kinds.OURS},{selector}", accept=kinds.NAMES_ALONE)
    names = {(text_at(each.get("metadata"), "namespace"), text_at(each.get("metadata"), "name")) for each in there}
    return tuple(gang for gang in found if any((each.namespace, each.name) in names for each in gang.jobs))


def gang_names(api: Api) -> tuple[str, ...]:
    """Return the names of all jobs."""
    found = (each.get("metadata") for each in api.listed("Job", kinds.OURS, accept=kinds.NAMES_ALONE))
    return tuple(dict.fromkeys(text_at(mapping(each, "labels"), JOB_LABEL) for each in found))


def gang_events(api: Api, gang: JobGang, pods: tuple[KubePod, ...]) -> Iterator[Object]:
    """Yield the events of a job's objects; those of pods that are gone by the beginning of their names."""
    names = {job.name for job in gang.jobs} | {pod.name for pod in pods}
    begins = tuple(f"{each.name}-" for each in gang.jobs)
    for event in api.listed("Event"):
        about = text_at(event.get("involvedObject"), "name")
        if about in names or about.startswith(begins):
            yield event


def checked_name(name: str) -> str:
    """Return a name that can be a job's: anything else would be another selector."""
    if not name or not all(mark.isascii() and (mark.isalnum() or mark in "-.") for mark in name):
        raise Mistyped(f"{name!r} cannot be a job's name: expected letters, digits and -, no _")
    return name


def first_failure(pods: tuple[KubePod, ...]) -> str:
    """Return the words of the pod that failed first, by what the pods themselves say."""
    failed = [each for each in pods if each.code]
    # Every launcher ends with the verdict, which names the first that failed; one that was told to stop has its own.
    each = next((pod for pod in failed if pod.message), failed[0] if failed else None)
    if each is None:
        return ""
    return f"{each.name} {each.why}" + (f": {' '.join(each.message.splitlines()[0].split())}" if each.message else "")
