"""The job of the seeds: a description, and the verbs that act on it.

Python 3.8 and nothing to install, as the program that is submitted is the one that trains, in its own Python.
"""

from __future__ import annotations

from launcher.job import acting
from launcher.job.description import Job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]


class PaddleJob(Job):
    """A job; a JobError lists all its mistakes when it is made."""

    def submit(self, replace: bool = False) -> Json:
        """Create it, with `replace` in the place of one of its name, and return how it is."""
        told: Json = self._act("submit", replace=replace)
        return told

    def dry_run(self) -> str:
        """Let the API server check all of it, create nothing, and return what would be sent."""
        told: str = self._act("dry_run")
        return told

    def status(self) -> Json:
        """Return how it is."""
        told: Json = self._act("status")
        return told

    def logs(
        self,
        follow: bool = False,
        role: str = "",
        worker: str = "",
        tail: int | None = None,
        since: int | None = None,
    ) -> None:
        """Print what its pods wrote; to follow is to go on until the job ends."""
        self._act("logs", follow=follow, role=role, worker=worker, tail=tail, since=since)

    def wait(self, until: str = "complete", timeout: float | None = None) -> str:
        """Return its state once it is as expected; a JobError tells why it never will be."""
        told: str = self._act("wait", until=until, timeout=timeout)
        return told

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

    def _act(self, verb: str, **options: Any) -> Any:  # noqa: ANN401  # as launcher.desk.jobs.control has it
        return acting.act(verb, self, **options)
