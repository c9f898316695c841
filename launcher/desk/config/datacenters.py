"""Datacenters: which of them is meant, and what one gives to a job, the volumes behind /pfs.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from launcher.desk.errors import Mistyped, Problem
from launcher.job import places
from launcher.job.problem import JobError, Mistake
from launcher.job.template.injected import AUTO, NEVER
from launcher.job.volumes import Volume

if TYPE_CHECKING:
    from launcher.job.description import Job

_AnyJob = TypeVar("_AnyJob", bound="Job")


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """A directory that pods can mount: one of four kinds, and the path below its top."""

    claim: str = ""
    host_path: str = ""
    nfs: str = ""
    csi: Mapping[str, object] = field(default_factory=dict)
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Datacenter:
    """A cluster and who uses it; without a name it is the kubeconfig's current context."""

    name: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    endpoint: str = ""
    context: str = ""
    authority: str = ""
    namespace: str = ""
    image: str = ""
    launcher_image: str = ""  # brings the launcher into pods of any other image
    with_launcher: tuple[str, ...] = ()  # images beside `image` that have it themselves
    volume: Storage | None = None
    public: Storage | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)  # a job's parameters

    @property
    def agent_image(self) -> str:
        """The image for the desk's own pods: one that has the launcher."""
        return self.image or self.launcher_image


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskConfig:
    """All datacenters, and the name of the current one."""

    datacenters: tuple[Datacenter, ...] = ()
    current: str = ""
    where: str = ""


def chosen(config: DeskConfig, name: str) -> Datacenter:
    """Return the datacenter of a name, else the current one; without any, what the kubeconfig says."""
    wanted = name or config.current
    if not wanted:
        if len(config.datacenters) > 1:
            known = ", ".join(each.name for each in config.datacenters)
            raise Problem(f"{config.where} has no current-datacenter: expected one of {known}, or -datacenter NAME")
        return config.datacenters[0] if config.datacenters else Datacenter()
    for each in config.datacenters:
        if each.name == wanted:
            return each
    known = ", ".join(each.name for each in config.datacenters) or "none"
    raise Problem(f"datacenter {wanted!r} is not in {config.where}: it has {known}")


def by_kubeconfig(config: DeskConfig, name: str, *, context: str, other_file: bool, usual: str = "") -> Datacenter:
    """Return the datacenter that flags about the kubeconfig mean: the one of that context, else the context alone."""
    if name:
        named = chosen(config, name)
        if not named.context or context not in ("", named.context):
            own = f"context {named.context!r} of the kubeconfig" if named.context else named.endpoint
            raise Mistyped(
                f"datacenter {name!r} is {own}, and -context or -kubeconfig says another cluster: use one of them"
            )
        return named
    # A context of the same name in another file may be another cluster.
    same = [each for each in config.datacenters if each.context == context and context and not other_file]
    best = [each for each in same if each.name == (usual or config.current)] or same
    return best[0] if len(best) == 1 else Datacenter(context=context)


def datacenter_volumes(datacenter: Datacenter) -> tuple[Volume, ...]:
    """Return the volumes of a job in this datacenter, the user's own first."""
    top = f"/pfs/{datacenter.name}"
    found: list[Volume] = []
    if datacenter.volume:
        homes = (f"{top}/home/{datacenter.username}", f"{top}/user/{datacenter.username}")
        found += [_volume(datacenter.volume, home, read_only=False) for home in homes]
    if datacenter.public:
        found += [_volume(datacenter.public, place, read_only=True) for place in (f"{top}/public", "/pfs/public")]
    return tuple(found)


def equipped(job: Job, datacenter: Datacenter) -> Job:
    """Return a job with what its datacenter lends: volumes where it has none of its own, its image, its defaults."""
    taken = {each.mount_path.rstrip("/") for each in places.volumes(job)}
    lent = (each for each in datacenter_volumes(datacenter) if each.mount_path not in taken)
    found = replace(
        job,
        runtime_image=job.runtime_image or datacenter.image,
        volumes=(*job.volumes, *lent),
        restricted=job.restricted and restricted(datacenter),
    )
    return with_defaults(with_launcher(found, datacenter), datacenter)


def with_launcher(job: _AnyJob, datacenter: Datacenter) -> _AnyJob:
    """Return a job with the image that brings the launcher into its pods, where that is asked for or needed."""
    has_it = job.runtime_image in (datacenter.image, *datacenter.with_launcher)
    if job.launcher_image or job.inject == NEVER or (job.inject == AUTO and has_it):
        return job
    return replace(job, launcher_image=datacenter.launcher_image)


def with_defaults(job: _AnyJob, datacenter: Datacenter) -> _AnyJob:
    """Return a job with its datacenter's defaults: a value of its own stands above, several stand beside them."""
    found: dict[str, Any] = {}
    for field_name, value in datacenter.defaults.items():
        own = getattr(job, field_name)
        if isinstance(value, dict):
            found[field_name] = {**value, **own}
        elif isinstance(value, tuple):
            found[field_name] = (*(each for each in value if each not in own), *own)
        elif own in (None, ""):
            found[field_name] = value
    try:
        return replace(job, **found) if found else job
    except JobError as error:
        said = f"defaults of datacenter {datacenter.name!r}: "
        raise JobError(Mistake(said, *each.parts) for each in error.mistakes) from None


def restricted(datacenter: Datacenter) -> bool:
    """Return whether the restricted pod security standard lets pods have these volumes."""
    return not any(each and (each.host_path or each.nfs) for each in (datacenter.volume, datacenter.public))


def _volume(storage: Storage, mount_path: str, *, read_only: bool) -> Volume:
    return Volume(
        mount_path=mount_path,
        claim=storage.claim,
        host_path=storage.host_path,
        nfs=storage.nfs,
        csi=dict(storage.csi),
        sub_path=storage.path,
        read_only=read_only,
    )
