"""The job of the seeds: a description, and the verbs that act on it; and a job of which only the name is known.

Python 3.8 and nothing to install, as the program that is submitted is the one that trains, in its own Python.
"""

from __future__ import annotations

from dataclasses import dataclass

from launcher.job import acting
from launcher.job.description import Job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from launcher.job.values import JobEvent, JobStatus, JobWorker, LogLine


@dataclass(frozen=True)
class JobByName:
    """A job that a cluster has; without a namespace or a datacenter they are the configuration's."""

    job_name: str
    namespace: str = ""
    datacenter: str = ""

    def status(self) -> JobStatus:
        """Return how it is."""
        found: JobStatus = self._act("status")
        return found

    def workers(self) -> tuple[JobWorker, ...]:
        """Return its pods, the trainers first, by rank."""
        found: tuple[JobWorker, ...] = self._act("workers")
        return found

    def events(self) -> tuple[JobEvent, ...]:
        """Return what the cluster noted about it, the newest last; a cluster usually forgets after an hour."""
        found: tuple[JobEvent, ...] = self._act("events")
        return found

    def logs(
        self,
        follow: bool = False,
        role: str = "",
        worker: str = "",
        tail: int | None = None,
        since: int | None = None,
    ) -> Iterator[LogLine]:
        """Return the lines that its pods wrote; to follow is to go on until the job ends."""
        found: Iterator[LogLine] = self._act("logs", follow=follow, role=role, worker=worker, tail=tail, since=since)
        return found

    def wait(
        self,
        until: str = "complete",
        timeout: float | None = None,
        on_change: Callable[[JobStatus], object] | None = None,
    ) -> str:
        """Return its state once it is as expected; a JobError tells why it never will be.

        `on_change` is called with the status, at first and whenever the job's state has changed.
        """
        found: str = self._act("wait", heed=on_change, until=until, timeout=timeout)
        return found

    def kill(self, remove: bool = False) -> str:
        """End it and keep its logs and state; with `remove`, leave only its files on a volume."""
        told: str = self._act("kill", remove=remove)
        return told

    def suspend(self) -> str:
        """End its pods until it is resumed."""
        told: str = self._act("suspend")
        return told

    def resume(self) -> str:
        """Let it go on, after its last complete pass, if it was suspended or killed."""
        told: str = self._act("resume")
        return told

    def scale(self, pods: int, suspend: bool = False) -> str:
        """Give it so many pods, if its `members` allow them; with `suspend` in a queue."""
        told: str = self._act("scale", pods=pods, suspend=suspend)
        return told

    def _act(self, verb: str, **options: Any) -> Any:  # noqa: ANN401  # as launcher.desk.jobs.control has it
        return acting.act(verb, self, **options)


class PaddleJob(Job, JobByName):
    """A job; a JobError lists all its mistakes when it is made."""

    def manifests(self) -> tuple[dict[str, Any], ...]:
        """Return the objects to create; a package of this machine is read for them."""
        found = super().manifests()
        if not self.local_package:
            return found
        from launcher.job.package.carried import carrying
        from launcher.job.package.reading import package_files

        return carrying(self, found, package_files(self.local_package))

    def submit(self, replace: bool = False) -> JobStatus:
        """Create it, with `replace` in the place of one of its name, and return how it is."""
        found: JobStatus = self._act("submit", replace=replace)
        return found

    def dry_run(self) -> str:
        """Let the API server check all of it, create nothing, and return what would be sent."""
        told: str = self._act("dry_run")
        return told


def get(name: str, namespace: str = "", datacenter: str = "") -> JobByName:
    """Return a job that the cluster has; a JobError tells that there is none of this name."""
    found = JobByName(name, namespace, datacenter).status()
    return JobByName(found.name, found.namespace, datacenter)


def jobs(namespace: str = "", datacenter: str = "") -> tuple[JobStatus, ...]:
    """Return how all jobs of the namespace are."""
    found: tuple[JobStatus, ...] = acting.act("jobs", JobByName("", namespace, datacenter))
    return found
