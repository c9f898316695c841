"""Errors at the desk, each with a sentence for the user, and how a command line spells what is wrong.

No I/O here.
"""

from __future__ import annotations

import shlex

from launcher.job.problem import JobError, Mistake, Parameter

PARAMETER_FLAGS = {
    "annotations": "-annotation",
    "cpu_nums": "-cpu",
    "entry_point": "-entry",
    "env": "-env",
    "env_from": "-env-from",
    "gpu_nums": "-gpu",
    "gpu_resource": "-gpu-resource",
    "here": "-here",
    "inject": "-inject",
    "job_name": "-jobname",
    "keep": "-keep",
    "labels": "-label",
    "launcher_image": "`launcher-image:` in the datacenter's configuration, or LAUNCHER_INIT_IMAGE",
    "local_package": "the package",
    "members": "-members",
    "memory": "-memory",
    "namespace": "-namespace",
    "passes": "-passes",
    "pod": "-pod",
    "priority": "-priority",
    "processes": "-processes",
    "pscpu": "-pscpu",
    "pservers": "-pservers",
    "psmemory": "-psmemory",
    "queue": "-queue",
    "registry": "-registry",
    "replace": "--replace",
    "restarts": "-restarts",
    "runtime": "-runtime",
    "runtime_image": "-image",
    "secret_files": "-secret-file",
    "selector": "-selector",
    "service_account": "-serviceaccount",
    "shm": "-shm",
    "spares": "-spares",
    "suspend": "--suspend",
    "together": "-together",
    "tolerations": "-toleration",
    "avoid": "-avoid",
    "topology": "-topology",
    "trainer_package_path": "the package",
    "trainers": "-parallelism",
    "volumes": "`volume:` of the datacenter's configuration",
}


def as_flag(said: Parameter) -> str:
    """Return a parameter as it is typed; one that no flag has is spelled as in Python."""
    if said.name not in PARAMETER_FLAGS:
        return str(said)
    value = "" if said.value is True or not said.given else f" {shlex.quote(str(said.value))}"
    return PARAMETER_FLAGS[said.name] + value


def error_lines(error: JobError) -> str:
    """Return the lines that say what is wrong, as typed."""
    return "".join(f"paddlectl: {line}\n" for each in error.spelled(as_flag) for line in each.splitlines())


class Problem(JobError):
    """An error for the user: the thing, its trouble and the remedy; the exit code is 1."""

    def __init__(self, *sentence: str | Parameter) -> None:
        super().__init__([Mistake(*sentence)])


class Mistyped(Problem):
    """A word that is wrong whatever is there: the exit code is that of wrong usage."""

    code = 2


class ApiProblem(Problem):
    """The API server could not do what it was asked for; `brief` is the sentence without its remedy."""

    def __init__(self, brief: str, remedy: str = "") -> None:
        super().__init__(f"{brief}; {remedy}" if remedy else brief)
        self.brief, self.remedy = brief, remedy


class Refused(ApiProblem):
    """The API server's own refusal, with its status code and the message as it came."""

    def __init__(self, brief: str, remedy: str = "", *, status: int, message: str, after: float = 0.0) -> None:
        super().__init__(brief, remedy)
        self.status = status
        self.message = message
        self.after = after  # seconds that the server asks for

    def about(self, what: str) -> Refused:
        """Return the same, as the reason of something."""
        brief = f"{what}: {self.brief}"
        return Refused(brief, self.remedy, status=self.status, message=self.message, after=self.after)


class Unreachable(ApiProblem):
    """The API server could not be reached, or the connection broke."""
