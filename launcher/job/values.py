"""What a job's verbs return: how it is, its pods, what these wrote, and what happened to them.

No I/O here. Python 3.8. Times are texts as Kubernetes writes them, and whatever is not there yet is an empty one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, is_dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True)
class JobStatus:
    """How a job is; the counts are of the trainers' pods."""

    name: str
    namespace: str
    state: str
    submitted: str
    started: str
    ended: str
    trainers: int
    pservers: int
    active: int
    ready: int
    succeeded: int
    failed: int
    image: str
    datacenter: str
    why: str


@dataclass(frozen=True)
class JobWorker:
    """One pod of a job; `code` is the exit code of its container once that has ended."""

    name: str
    role: str
    rank: int
    status: str
    ready: bool
    restarts: int
    started: str
    address: str
    node: str
    code: int | None
    why: str


@dataclass(frozen=True)
class JobEvent:
    """Something that the cluster noted about a job's Jobs and pods."""

    when: str
    type: str
    reason: str
    about: str
    message: str


@dataclass(frozen=True)
class LogLine:
    """A line that a pod wrote; as a text it has role and rank in front."""

    role: str
    rank: int
    pod: str  # its name, empty where the line is from the volume
    text: str

    def __str__(self) -> str:
        return f"{self.title} | {self.text}"

    @property
    def title(self) -> str:
        """Role and rank, or the pod's name where it has no rank."""
        return f"{self.role}-{self.rank}" if self.rank >= 0 else self.pod


_KINDS = {each.__name__: each for each in (JobStatus, JobWorker, JobEvent, LogLine)}


def packed(value: Any) -> Any:  # noqa: ANN401  # whatever a verb returns
    """Return a verb's result as JSON can hold it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {"is": type(value).__name__, **asdict(value)}
    return [packed(each) for each in value] if isinstance(value, tuple) else value


def unpacked(found: Any) -> Any:  # noqa: ANN401  # whatever a verb returns
    """Return the result that was packed."""
    if isinstance(found, dict) and found.get("is") in _KINDS:
        return _KINDS[found["is"]](**{name: value for name, value in found.items() if name != "is"})
    return tuple(map(unpacked, found)) if isinstance(found, list) else found
