"""A package that goes with its job: a ConfigMap that the Job owns, mounted with every file at its place.

No I/O here. Python 3.8. The launcher stages a ConfigMap's mount as any other directory: nothing is unpacked in a pod.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

from launcher.contract import PACKAGE_MOUNT
from launcher.job.manifests import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from launcher.job.description import Job

    Json = dict[str, Any]

# The API server takes 1 MiB in a ConfigMap, and etcd 1.5 MiB in all.
MOST_CARRIED = 900 << 10
_BESIDE = 32  # bytes for each file beside its content and its path: its key, in the ConfigMap and in the pods
_VOLUME = "package"
_RUNS = 0o755  # others have the 0644 of every ConfigMap


@dataclass(frozen=True)
class PackageFile:
    """A file by its path below the package; one that `runs` may be started."""

    path: str
    content: bytes
    runs: bool = False


def file_weight(path: str, size: int) -> int:
    """Return what a file with so many bytes of content takes in the API server's objects."""
    return size + len(path.encode()) + _BESIDE


def carried_weight(files: Sequence[PackageFile]) -> int:
    """Return what the files take; what is no text is kept as base64."""
    return sum(
        file_weight(each.path, len(each.content if _text(each) is not None else _coded(each))) for each in files
    )


def too_large(package: str, taken: int, count: int) -> str:
    """Return the sentence about a package that is."""
    of_files = f"{count} file{'s' * (count != 1)}"
    told = (
        f"{package} takes {-(-taken // 1024)} KiB in {of_files}: at most {MOST_CARRIED >> 10} KiB can go with a job"
    )
    return (
        f"{told}; leave out what the program does not need in {package}/.paddleignore, or use a volume: set "
        "`volume: {claim: NAME}` in the datacenter's configuration, and `paddlectl submit` copies the package to it"
    )


def carrying(job: Job, manifests: Sequence[Json], files: Sequence[PackageFile]) -> tuple[Json, ...]:
    """Return a job's manifests with the package, behind the first, which owns it: no pod waits for it for long."""
    items = [_item(number, each) for number, each in enumerate(files)]
    first, *others = (_mounted(each, job, items) if each["kind"] == "Job" else each for each in manifests)
    return (first, _config_map(job, files), *others)


def _config_map(job: Job, files: Sequence[PackageFile]) -> Json:
    namespace = {"namespace": job.namespace} if job.namespace else {}
    texts = {str(number): _text(each) for number, each in enumerate(files)}
    coded = {key: _coded(files[int(key)]) for key, text in texts.items() if text is None}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": _name(job), **namespace, "labels": labels(job)},
        # A pod that is replaced has the same program as the others.
        "immutable": True,
        "data": {key: text for key, text in texts.items() if text is not None},
        **({"binaryData": coded} if coded else {}),
    }


def _mounted(manifest: Json, job: Job, items: list[Json]) -> Json:
    """Return a Job whose pods have the package."""
    spec = manifest["spec"]["template"]["spec"]
    volume = {"name": _VOLUME, "configMap": {"name": _name(job), "items": items}}
    first, *others = spec["containers"]
    first = {**first, "volumeMounts": [*first["volumeMounts"], {"name": _VOLUME, "mountPath": PACKAGE_MOUNT}]}
    spec = {**spec, "volumes": [*spec["volumes"], volume], "containers": [first, *others]}
    template = {**manifest["spec"]["template"], "spec": spec}
    return {**manifest, "spec": {**manifest["spec"], "template": template}}


def _name(job: Job) -> str:
    return f"{job.job_name}-package"


def _item(number: int, file: PackageFile) -> Json:
    return {"key": str(number), "path": file.path, **({"mode": _RUNS} if file.runs else {})}


def _text(file: PackageFile) -> str | None:
    try:
        return file.content.decode()
    except UnicodeDecodeError:
        return None


def _coded(file: PackageFile) -> str:
    return base64.b64encode(file.content).decode()
