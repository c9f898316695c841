"""The names that a job's objects have, and which of them Kubernetes takes.

No I/O here. The seeds' rule is letters, digits, `-` and `.`, and to end with one of the first two; Kubernetes adds
lower case, no `.` in an Indexed Job, and 63 characters for whatever becomes a host name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from launcher.contract import PSERVER, TRAINER, job_of
from launcher.job.problem import Mistake, Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST = 63


@dataclass(frozen=True)
class Names:
    """The names of a job's objects."""

    job: str
    together: bool

    @property
    def trainer(self) -> str:
        """The Job whose pods train: the only one, where pservers are in the same pods."""
        return self.job if self.together else job_of(self.job, TRAINER)

    @property
    def pserver(self) -> str:
        """The Job whose pods only serve."""
        return job_of(self.job, PSERVER)

    @property
    def service(self) -> str:
        """The headless Service; with a word in front, as a Service's name may not begin with a digit."""
        return f"peers-{self.job}"

    def volume(self, number: int) -> str:
        """Return the claim that is made for the job's volume of this number."""
        return f"{self.job}-volume-{number}"

    def longest(self, pservers: int, trainers: int) -> str:
        """Return the longest of the names that may have 63 characters, host names with their index included."""
        hosts = [f"{self.trainer}-{trainers - 1}"] + ([] if self.together else [f"{self.pserver}-{pservers - 1}"])
        return max((*hosts, self.service), key=len)


def is_label(name: object) -> bool:
    """Return whether Kubernetes takes this where it becomes part of a host name."""
    return isinstance(name, str) and len(name) <= _LONGEST and _LABEL.fullmatch(name) is not None


def is_subdomain(name: object) -> bool:
    """Return whether Kubernetes takes this for the name of most objects."""
    return isinstance(name, str) and len(name) <= 253 and SUBDOMAIN.fullmatch(name) is not None


def wrong_with(name: object, together: bool, pservers: int, trainers: int) -> Iterator[Mistake]:
    """Yield a sentence where a job cannot have this name, with one that it can have."""
    said = Parameter("job_name", name)
    if not isinstance(name, str) or not name:
        yield Mistake(said, ": expected a name of lower-case letters, digits and -, such as paddle-job")
        return
    if reasons := [reason for wrong, reason in _reasons(name) if wrong]:
        yield Mistake(said, f": {' and '.join(reasons)}; such as {_near(name) or 'my-job'!r}")
    longest = Names(name, together).longest(pservers, trainers)
    if len(longest) > _LONGEST:
        room = _LONGEST - len(longest) + len(name)
        told = (
            f"is too long: {longest[:100]!r} would have {len(longest)} characters, and Kubernetes allows {_LONGEST}; "
            f"expected at most {room} in the job's name"
        )
        yield Mistake(Parameter("job_name", name[:80]), f" {told}")


def _reasons(name: str) -> tuple[tuple[bool, str], ...]:
    return (
        (
            not name.isascii() or not re.fullmatch(r"[-.A-Za-z0-9]*", name),
            "expected only letters, digits and -, no _",
        ),
        (name.lower() != name, "Kubernetes allows lower case only"),
        ("." in name, "the name of an Indexed Job has no . in it"),
        (name[0] in "-." or name[-1] in "-.", "it must begin and end with a letter or digit"),
    )


def _near(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[: _LONGEST // 2].strip("-")
