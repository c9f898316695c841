"""What a user asks of the pods by name: labels, a queue, nodes, secrets, memory to share; and what of it cannot be.

No I/O here.
"""

from __future__ import annotations

import re

from launcher.contract import JOB_LABEL, MANAGED_BY, NAME, NODES_LABEL, PSERVERS_LABEL, QUEUE_LABEL, TRAINERS_LABEL
from launcher.job import quantities
from launcher.job.elastic.policies import MIN_PARALLELISM
from launcher.job.names import is_subdomain
from launcher.job.problem import Mistake, Parameter
from launcher.job.volumes import is_free

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from launcher.job.description import Job

    Json = dict[str, Any]

NVIDIA = "nvidia.com/gpu"
LONGEST_KEPT = 2**31 - 1  # seconds, as Kubernetes counts them
MOST_RESTARTS = 1000
# A label's value, or the name in its key; a label of Kubernetes' may be empty.
_WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_TOLERATION = re.compile(r"([^=:]+)(=?)([^=:]*)(?::(NoSchedule|PreferNoSchedule|NoExecute))?")
_OURS = frozenset((JOB_LABEL, MANAGED_BY, PSERVERS_LABEL, TRAINERS_LABEL, NODES_LABEL, "controller-uid"))
_ROOMS = (f"{NAME}/", "batch.kubernetes.io/")
_SEVERAL = "expected names and values, such as "


def is_ours(name: str) -> bool:
    """Return whether a label or an annotation is one by which jobs and their pods are found."""
    return name in _OURS or name.startswith(_ROOMS)


def pod_problems(job: Job) -> Iterator[Mistake]:
    """Yield a sentence for each thing that cannot be asked for."""
    yield from _labels(job, "labels", "{'team': 'vision'}", _is_value)
    yield from _labels(job, "annotations", "{'example.com/owner': 'me'}", _is_text)
    yield from _labels(job, "selector", "{'disk': 'ssd'}", _is_value)
    yield from _each(job, "env_from", is_subdomain, "the name of a Secret in the job's namespace")
    yield from _each(job, "tolerations", _is_toleration, "KEY, KEY=VALUE or KEY=VALUE:NoSchedule, as of the taint")
    yield from _each(job, "avoid", is_subdomain, "the name of a node, as `kubectl get nodes` shows it")
    yield from _secret_files(job)
    for field, right, expected in (
        ("queue", _is_word, "the name of a LocalQueue of Kueue, such as team-a"),
        ("gpu_resource", _is_resource, "a resource's name, such as amd.com/gpu"),
        ("service_account", is_subdomain, "the name of a ServiceAccount in the job's namespace"),
        ("priority", is_subdomain, "the name of a PriorityClass, such as high-priority"),
    ):
        if (value := getattr(job, field)) and not right(value):
            yield _wrong(job, field, expected)
    for field, most in (("keep", LONGEST_KEPT), ("restarts", MOST_RESTARTS)):
        value = getattr(job, field)
        if value is not None and not (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most):
            yield _wrong(job, field, f"a whole number{' of seconds' * (field == 'keep')} from 0 to {most}")
    yield from _shm(job)


def _labels(job: Job, field: str, example: str, is_value: Callable[[object], bool]) -> Iterator[Mistake]:
    given = getattr(job, field)
    if not isinstance(given, dict):
        yield _wrong(job, field, f"names and values, such as {example}")
        return
    said = Parameter(field, given=False)
    for name, value in given.items():
        if not _is_key(name) or not is_value(value):
            yield Mistake(said, f" has {name!r}: {value!r}: {_SEVERAL}{example}, as Kubernetes takes them")
        elif field != "selector" and is_ours(name):
            yield Mistake(said, f" has {name}: leave it out, the job's own objects are found by it")
        elif field != "selector" and name == MIN_PARALLELISM and not job.members:
            # Kueue would start fewer pods than the gang has, which would wait for the others.
            told = f" has {name}: leave it out, a gang has a fixed number of pods without "
            yield Mistake(said, told, Parameter("members", given=False))
        elif field == "labels" and name == QUEUE_LABEL:
            yield Mistake(said, f" has {name}: that is set by ", Parameter("queue", given=False))


def _each(job: Job, field: str, right: Callable[[Any], bool], expected: str) -> Iterator[Mistake]:
    for each in getattr(job, field):
        if not right(each):
            yield Mistake(Parameter(field, each), f": expected {expected}")


def _secret_files(job: Job) -> Iterator[Mistake]:
    said = Parameter("secret_files", given=False)
    if not isinstance(job.secret_files, dict):
        yield _wrong(job, "secret_files", "Secrets and directories, such as {'gcp-key': '/secrets/gcp'}")
        return
    for name, place in job.secret_files.items():
        if not is_subdomain(name) or not is_free(place):
            expected = "expected a Secret's name and an absolute path that is nobody's yet, such as /secrets/gcp"
            yield Mistake(said, f" has {name!r}: {place!r}: {expected}")
    places = [*job.secret_files.values()]
    if twice := [each for each in places if places.count(each) > 1]:
        yield Mistake(said, f": two Secrets are at {twice[0]}: expected a directory for each")


def _shm(job: Job) -> Iterator[Mistake]:
    if not job.shm:
        return
    try:
        size, most = quantities.memory(job.shm), pod_memory(job, trains=True)
    except quantities.WrongQuantity as wrong:
        yield Mistake(Parameter("shm", job.shm), f": {wrong}")
        return
    if size > most:
        told = (
            f": what is in it counts as the pod's memory, of which it has {quantities.memory_text(most)}; expected "
        )
        yield Mistake(Parameter("shm", job.shm), f"{told}less, or more ", Parameter("memory", given=False))


def pod_memory(job: Job, trains: bool, serves: bool = False) -> int:
    """Return the bytes that a pod may have, by what runs in it; of a job that is together, what both may have."""
    serves = job.pservers > 0 and (job.together or serves)
    return trains * quantities.memory(job.memory) + serves * quantities.memory(job.psmemory)


def shm_size(job: Job, trains: bool) -> str:
    """Return how much memory a pod may share between processes: half of it, where nobody says otherwise."""
    if job.shm and trains:
        return quantities.memory_text(quantities.memory(job.shm))
    return quantities.memory_text(pod_memory(job, trains, serves=not trains) // 2)


def metadata(job: Job) -> Json:
    """Return the annotations of a Job, or of its pods, where there are any."""
    return {"annotations": dict(job.annotations)} if job.annotations else {}


def queue(job: Job) -> dict[str, str]:
    """Return the label by which Kueue suspends a Job when it is made, and resumes it once its queue has room."""
    return {QUEUE_LABEL: job.queue} if job.queue else {}


def of_pod(job: Job) -> Json:
    """Return what is asked of the pod itself."""
    said = {
        "nodeSelector": dict(job.selector),
        "priorityClassName": job.priority,
        "serviceAccountName": job.service_account,
    }
    return {name: value for name, value in said.items() if value}


def tolerations(job: Job) -> list[Json]:
    """Return the tolerations of a pod, from texts as those of taints."""
    return [_toleration(each) for each in job.tolerations]


def _toleration(text: str) -> Json:
    key, is_equal, value, effect = _TOLERATION.findall(text)[0]
    own = {"key": key, "operator": "Equal", "value": value} if is_equal else {"key": key, "operator": "Exists"}
    return {**own, "effect": effect} if effect else own


def env_from(job: Job) -> Json:
    """Return where a container has more variables from."""
    return {"envFrom": [{"secretRef": {"name": each}} for each in job.env_from]} if job.env_from else {}


def secret_volumes(job: Job) -> list[Json]:
    """Return the Secrets whose keys are files."""
    return [
        {"name": f"secret-{number}", "secret": {"secretName": name}}
        for number, name in enumerate(job.secret_files, 1)
    ]


def secret_mounts(job: Job) -> list[Json]:
    """Return where these files are."""
    return [
        {"name": f"secret-{number}", "mountPath": place, "readOnly": True}
        for number, place in enumerate(job.secret_files.values(), 1)
    ]


def _wrong(job: Job, field: str, expected: str) -> Mistake:
    return Mistake(Parameter(field, getattr(job, field)), f": expected {expected}")


def _is_key(name: object) -> bool:
    room, slash, word = name.rpartition("/") if isinstance(name, str) else ("", "", "")
    return _WORD.fullmatch(word) is not None and (is_subdomain(room) if slash else True)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and _WORD.fullmatch(value) is not None and is_subdomain(value)


def _is_value(value: object) -> bool:
    return value == "" or (isinstance(value, str) and _WORD.fullmatch(value) is not None)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_resource(name: object) -> bool:
    return _is_key(name) and "/" in str(name)


def _is_toleration(text: object) -> bool:
    found = _TOLERATION.fullmatch(text) if isinstance(text, str) else None
    return found is not None and _is_key(found[1]) and _is_value(found[3])
