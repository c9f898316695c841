"""A job's pods: what runs in them, what they may do, and what they are given of the machine.

No I/O here.
"""

from __future__ import annotations

from launcher.contract import (
    IDENTITY_FILES,
    LIST_FILES,
    PSERVER,
    PSERVERS_LABEL,
    STATUS_PORT,
    TRAINER,
    TRAINERS_LABEL,
    own_python,
)
from launcher.job import entry, places, podspec, quantities
from launcher.job.entry import environment
from launcher.job.names import Names
from launcher.job.template import asked, injected, overlay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from launcher.job.description import Job

    Json = dict[str, Any]

# What programs of the seeds write in `/`, which is read-only here: files of a volume, each mounted at its place.
ROOT_FILES = (*IDENTITY_FILES, *LIST_FILES)
# A subPath that is not there becomes a directory.
MAKE_ROOT_FILES = f"for name in {ROOT_FILES}: open('/root-files/' + name, 'a').close()"
_JOB_UID = "metadata.labels['batch.kubernetes.io/controller-uid']"
GRACE = 60  # above LAUNCHER_GRACE, so that the launcher still has time for its last words


def template(job: Job, role: str, labels: Json) -> Json:
    """Return the pods of one role."""
    found = own_template(job, role, labels)
    for each in job.overlays:
        found = overlay.merged(found, overlay.for_role(each, role))
    return overlay.avoiding(found, job.avoid)


def own_template(job: Job, role: str, labels: Json) -> Json:
    """Return the same without what the user lays over it."""
    found_by = {PSERVERS_LABEL: job.job_name} if role == PSERVER else {TRAINERS_LABEL: job.job_name}
    metadata = {"labels": {**job.labels, **labels, **found_by}, **asked.metadata(job)}
    return {"metadata": metadata, "spec": _pod(job, role)}


def _pod(job: Job, role: str) -> Json:
    pull = {"imagePullSecrets": [{"name": job.registry}]} if job.registry else {}
    first = _first(job, role)
    return {
        # Not OnFailure: it counts the restarts of all pods together, and deletes their logs when it gives up.
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE,
        "subdomain": Names(job.job_name, job.together).service,
        # No program in the pod needs the API: no token, no Role, nothing to steal.
        "automountServiceAccountToken": False,
        # Without this a Service named `launcher` would put LAUNCHER_PORT=tcp://... into every pod of the namespace.
        "enableServiceLinks": False,
        **pull,
        **asked.of_pod(job),
        "tolerations": [_briefly("not-ready"), _briefly("unreachable"), *asked.tolerations(job)],
        "securityContext": podspec.user(restricted=job.restricted),
        "volumes": [
            *_volumes(job),
            *_own_volumes(job, role),
            *asked.secret_volumes(job),
            *injected.launcher_volumes(job),
        ],
        **({"initContainers": first} if first else {}),
        "containers": [_container(job, role)],
    }


def _briefly(trouble: str) -> Json:
    """Return the toleration of a node's trouble for 30 s; by default a dead node's pod counts as running for 300."""
    key = f"node.kubernetes.io/{trouble}"
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}


def _volumes(job: Job) -> list[Json]:
    found = []
    for number, volume in enumerate(places.sources(job), 1):
        claim = volume.claim or Names(job.job_name, job.together).volume(number)
        source = podspec.volume_source(host_path=volume.host_path, nfs=volume.nfs, claim=claim)
        found.append({"name": places.volume_name(number), **source})
    return found


def _own_volumes(job: Job, role: str) -> list[Json]:
    """Return where the pod itself writes: the root file system is read-only."""
    root_files = [{"name": "root-files", "emptyDir": {}}] if _needs_root_files(job, role) else []
    shm = podspec.shm(asked.shm_size(job, trains=role != PSERVER))
    return [shm, {"name": "work", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}, *root_files]


def _needs_root_files(job: Job, role: str) -> bool:
    """Return whether a pod trains, and cannot write them in its own `/`."""
    return job.restricted and role != PSERVER


def _first(job: Job, role: str) -> list[Json]:
    """Return what runs before the pod's own container."""
    if injected.is_injected(job):
        return [
            injected.launcher_bringer(job, _resources(job, role), ROOT_FILES if _needs_root_files(job, role) else ())
        ]
    return [_maker_of_root_files(job, role)] if _needs_root_files(job, role) else []


def _maker_of_root_files(job: Job, role: str) -> Json:
    """Return what makes them: it asks for what the launcher after it asks for, so that no quota counts it again."""
    requests = _resources(job, role)["requests"]
    return {
        "name": "root-files",
        "image": job.runtime_image,
        "command": [own_python(), "-I", "-S", "-c", MAKE_ROOT_FILES],
        "resources": {"requests": requests, "limits": {"memory": requests["memory"]}},
        "securityContext": podspec.security(restricted=job.restricted),
        "volumeMounts": [{"name": "root-files", "mountPath": "/root-files"}],
    }


def _container(job: Job, role: str) -> Json:
    words, variables = entry.command(job, serves=role == PSERVER), environment(job, role)
    if injected.is_injected(job):
        words = injected.brought_command(words, variables)
    return {
        "name": PSERVER if role == PSERVER else TRAINER,
        "image": job.runtime_image,
        "command": [_literal(word) for word in words],
        **asked.env_from(job),
        "env": [
            *({"name": name, "value": _literal(value)} for name, value in variables.items()),
            # The gang's key, and the node, which other launchers ask the API for.
            *([_of_pod_itself("LAUNCHER_JOB_UID", _JOB_UID)] if role != PSERVER else []),
            *([_of_pod_itself("NODE_NAME", "spec.nodeName")] if "NODE_NAME" not in variables else []),
        ],
        "ports": [{"name": "status", "containerPort": STATUS_PORT}],
        **_probes(),
        "resources": _resources(job, role),
        "securityContext": podspec.security(restricted=job.restricted),
        "volumeMounts": [
            *_mounts(job),
            *_own_mounts(job, role),
            *asked.secret_mounts(job),
            *injected.launcher_mounts(job),
        ],
    }


def _of_pod_itself(name: str, field: str) -> Json:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}}


def _literal(text: str) -> str:
    """Return a text from which Kubernetes, which expands $(NAME), makes that text."""
    return text.replace("$", "$$")


def _probes() -> Json:
    """Return the probes, which ask the launcher: it answers while it stages, waits, and ends."""
    alive = {"httpGet": {"path": "/healthz", "port": "status"}}
    ready = {"httpGet": {"path": "/readyz", "port": "status"}}
    return {
        "startupProbe": {**alive, "periodSeconds": 2, "failureThreshold": 60},
        "livenessProbe": {**alive, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 6},
        "readinessProbe": {**ready, "periodSeconds": 5, "timeoutSeconds": 5, "failureThreshold": 2},
    }


def _resources(job: Job, role: str) -> Json:
    """Return requests and limits; a pod of both roles has both.

    No limit on CPU: the slowest rank sets the pace of all, and a throttled one is the slowest. Memory is limited to
    what was requested, so that a pod that takes too much is the one that is killed.
    """
    serves = role != TRAINER and job.pservers > 0
    cores = [job.cpu_nums] * (role != PSERVER) + [job.pscpu] * serves
    cpu = quantities.cores_text(sum(map(quantities.millicores, cores)))
    memory = quantities.memory_text(asked.pod_memory(job, trains=role != PSERVER, serves=serves))
    gpus = {job.gpu_resource or asked.NVIDIA: str(job.gpu_nums)} if job.gpu_nums and role != PSERVER else {}
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory, **gpus}}


def _mounts(job: Job) -> list[Json]:
    found = []
    for each in places.mounts(job):
        sub = {"subPath": each.volume.sub_path} if each.volume.sub_path else {}
        read_only = {"readOnly": True} if each.volume.read_only else {}
        found.append({"name": each.name, "mountPath": each.path, **sub, **read_only})
    return found


def _own_mounts(job: Job, role: str) -> list[Json]:
    own = {"shm": podspec.SHM, "work": "/work", "tmp": "/tmp"}  # noqa: S108  # a volume of the pod's own
    files = ROOT_FILES if _needs_root_files(job, role) else ()
    return [
        *({"name": name, "mountPath": path} for name, path in own.items()),
        *({"name": "root-files", "mountPath": f"/{name}", "subPath": name} for name in files),
    ]
