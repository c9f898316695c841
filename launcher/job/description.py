"""A training job as a value, and its manifests.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import InitVar, dataclass, field
from typing import cast

from launcher.job.checking import problems
from launcher.job.elastic.width import most_trainers, pservers_together
from launcher.job.entry import WITHOUT_PSERVERS
from launcher.job.problem import JobError
from launcher.job.template import injected
from launcher.job.volumes import CephFSVolume, Volume

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

# Texts that need not be said, and may be said to be None.
MAY_BE_NONE = (
    *("entry_point", "trainer_package_path", "namespace", "topology", "registry", "datacenter", "job_path"),
    *("runtime", "queue", "shm", "gpu_resource", "service_account", "priority", "launcher_image"),
    *("local_package", "members"),
)
TUPLES = ("volumes", "env_from", "tolerations", "avoid", "pod")
TRAINERS = 3  # the seeds' default
MAPPINGS = ("env", "labels", "annotations", "selector", "secret_files")


@dataclass(frozen=True)
class Job:
    """A request for a job; a JobError lists all its mistakes when it is made."""

    job_name: str
    entry_point: str = ""
    runtime_image: str = ""
    memory: str = "1Gi"
    cpu_nums: float | str = 1
    gpu_nums: int = 0
    pservers: int = 2
    trainers: int = cast("int", None)  # the most of members, or 3: settled below
    pscpu: float | str = 1
    psmemory: str = "1Gi"
    cephfs_volume: CephFSVolume | None = None
    volumes: tuple[Volume, ...] = ()
    trainer_package_path: str = ""
    namespace: str = ""
    topology: str = ""
    passes: int | None = None
    registry: str = ""
    together: bool = False
    runtime: str = ""
    datacenter: str = ""
    job_path: str = ""
    env: Mapping[str, str] = field(default_factory=dict, hash=False)
    restricted: bool = True
    processes: int | str | None = None
    members: str = ""
    spares: int | None = None
    env_from: str | Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)
    queue: str = ""
    selector: Mapping[str, str] = field(default_factory=dict, hash=False)
    tolerations: str | Sequence[str] = ()
    shm: str = ""
    gpu_resource: str = ""
    service_account: str = ""
    priority: str = ""
    keep: int | None = None
    restarts: int | None = None
    secret_files: Mapping[str, str] = field(default_factory=dict, hash=False)
    pod: Mapping[str, Any] | Sequence[Mapping[str, Any]] = field(default=(), hash=False)
    inject: str = injected.AUTO
    launcher_image: str = ""
    local_package: str = ""
    here: bool = False
    avoid: str | Sequence[str] = ()
    # The seeds' example has these names, its table the other ones.
    cpu_num: InitVar[float | str | None] = None
    use_gpu: InitVar[bool | None] = None
    image: InitVar[str | None] = None  # as flags and configurations have it

    def __post_init__(self, cpu_num: float | str | None, use_gpu: bool | None, image: str | None) -> None:
        """Take the other names, copy what the caller could change, and refuse mistakes."""
        settled: dict[str, object] = {name: getattr(self, name) or "" for name in MAY_BE_NONE}
        settled.update({name: _tuple(getattr(self, name)) for name in TUPLES})
        settled.update({name: _mapping(getattr(self, name)) for name in MAPPINGS})
        if cpu_num is not None:
            settled["cpu_nums"] = cpu_num
        if image is not None:
            settled["runtime_image"] = image
        if use_gpu and not self.gpu_nums:
            settled["gpu_nums"] = 1
        if cast("int | None", self.trainers) is None:
            settled["trainers"] = most_trainers(self.members, TRAINERS)
        if self.runtime in WITHOUT_PSERVERS:
            settled.update({"pservers": 0, "together": True})
        elif self.together and self.pservers:  # none at all is refused, as elsewhere
            settled["pservers"] = pservers_together(self.members, cast("int", settled.get("trainers", self.trainers)))
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        found = [*problems(self, lent=bool(self.datacenter))]
        if use_gpu is False and self.gpu_nums:
            found.append(f"use_gpu=False and gpu_nums={self.gpu_nums}: expected one of them")
        if found:
            raise JobError(found)

    def __str__(self) -> str:
        """Return the manifests as YAML."""
        from launcher.job.text import yaml

        return yaml(self.manifests())

    @property
    def overlays(self) -> tuple[Mapping[str, Any], ...]:
        """What is laid over the pods, in this order: `pod` once it is settled."""
        return self.pod  # type: ignore[return-value]  # a tuple, see above

    def manifests(self) -> tuple[Json, ...]:
        """Return the objects to create, in this order: the trainers' Job first, which owns the rest."""
        from launcher.job.manifests import manifests

        if found := [*problems(self), *injected.image_lacking(self)]:  # of what the datacenter was to lend
            raise JobError(found)
        return manifests(self)


def _mapping(given: object) -> object:
    """Return a copy of what may be one, and nothing for None."""
    if given is None:
        return {}
    return dict(given) if isinstance(given, Mapping) else given


def _tuple(given: object) -> tuple[object, ...]:
    """Return a tuple of a list's items, or of a single item, that the caller cannot change."""
    if given is None:
        return ()
    given = deepcopy(given)
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)
