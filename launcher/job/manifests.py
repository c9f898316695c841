"""A job's objects in the order in which they are created; the first one, the trainers' Job, is to own the others.

No I/O here. No client: dicts as the API takes them.
"""

from __future__ import annotations

import json

from launcher import contract
from launcher.job import places
from launcher.job.elastic.policies import partial_admission, policies
from launcher.job.elastic.width import trainer_pods
from launcher.job.names import Names
from launcher.job.pods import template
from launcher.job.template import asked, injected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from launcher.job.description import Job
    from launcher.job.volumes import Volume

    Json = dict[str, Any]

WEEK = 604_800


def manifests(job: Job) -> tuple[Json, ...]:
    """Return all objects of a job."""
    names = Names(job.job_name, job.together)
    if job.together:
        jobs: tuple[Json, ...] = (_job(job, contract.NODE, names.trainer, trainer_pods(job)),)
    else:
        trainers = _job(job, contract.TRAINER, names.trainer, trainer_pods(job))
        jobs = (trainers, _job(job, contract.PSERVER, names.pserver, job.pservers))
    told = {**partial_admission(job), **job.annotations, contract.SPEC_ANNOTATION: _spec(job)}
    jobs[0]["metadata"]["annotations"] = told
    return (*jobs, _service(job, names), _network_policy(job), *_made_volumes(job, names))


def labels(job: Job) -> Json:
    """Return what every object of the job is found by."""
    return {contract.MANAGED_BY: contract.NAME, contract.JOB_LABEL: job.job_name}


def _metadata(job: Job, name: str) -> Json:
    namespace = {"namespace": job.namespace} if job.namespace else {}
    return {"name": name, **namespace, "labels": labels(job)}


def _metadata_of_job(job: Job, name: str) -> Json:
    """Return the same with what the user wants on Jobs and pods; Kueue holds back what has its label."""
    found = _metadata(job, name)
    return {**found, "labels": {**job.labels, **found["labels"], **asked.queue(job)}, **asked.metadata(job)}


def _job(job: Job, role: str, name: str, count: int) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata_of_job(job, name),
        "spec": {
            # Each pod has an index, which is its rank, and which a replacement takes over; so has its name in DNS.
            "completionMode": "Indexed",
            "parallelism": count,
            "completions": count,
            **policies(job, role, count),
            "ttlSecondsAfterFinished": WEEK if job.keep is None else job.keep,
            "template": template(job, role, labels(job)),
        },
    }


def _spec(job: Job) -> str:
    """Return what was asked for; no secret is in a job, but for what a user may have put into the entry."""
    said = {
        "entry": job.entry_point,
        "topology": job.topology,
        "package": job.trainer_package_path or job.local_package,
        "image": job.runtime_image,
        "launcher": job.launcher_image if injected.is_injected(job) else "",
        "pservers": job.pservers,
        "trainers": job.trainers,
        "together": job.together,
        "runtime": job.runtime,
        "processes": job.processes,
        "members": job.members,
        "spares": job.spares,
        "datacenter": job.datacenter,
        "job_path": places.job_path(job),
        "volumes": [
            _said({"mount_path": at.path, "claim": _claim(job, at), "sub_path": at.volume.sub_path})
            for at in places.mounts(job)
        ],
    }
    return json.dumps(_said(said))


def _said(found: Json) -> Json:
    return {name: value for name, value in found.items() if value}


def _claim(job: Job, mount: places.Mount) -> str:
    made = f"{job.job_name}-{mount.name}" if mount.volume.csi else ""
    return mount.volume.claim or made


def _service(job: Job, names: Names) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(job, names.service),
        "spec": {
            # Headless: a name for each pod, instead of one address for all.
            "clusterIP": "None",
            # A pod is looked up before it is ready: it becomes ready only after it has found the others.
            "publishNotReadyAddresses": True,
            "selector": {contract.JOB_LABEL: job.job_name},
        },
    }


def _network_policy(job: Job) -> Json:
    """Return the fence: pservers and status ports do not authenticate, so only the job's own pods may connect."""
    own = {"matchLabels": {contract.JOB_LABEL: job.job_name}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(job, job.job_name),
        "spec": {
            "podSelector": own,
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": {"matchLabels": dict(own["matchLabels"])}}]}],
        },
    }


def _made_volumes(job: Job, names: Names) -> tuple[Json, ...]:
    """Return a PersistentVolume and its claim for each file system of a CSI driver."""
    found = [(names.volume(number), each) for number, each in enumerate(places.sources(job), 1) if each.csi]
    return tuple(made for name, each in found for made in (_volume(job, each, name), _claim_of(job, name)))


def _volume_name(job: Job, claim: str) -> str:
    """Return a name unique in the cluster, to which a PersistentVolume belongs: a namespace has no dot."""
    return f"{job.namespace}.{claim}" if job.namespace else claim


def _volume(job: Job, volume: Volume, claim: str) -> Json:
    name = _volume_name(job, claim)
    reserved = {"claimRef": {"namespace": job.namespace, "name": claim}} if job.namespace else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels(job)},
        "spec": {
            # A number is asked for by the API, and means nothing to a file system that is there already.
            "capacity": {"storage": "1Gi"},
            "volumeMode": "Filesystem",
            "accessModes": ["ReadWriteMany"],
            # The files outlive the claim, and even this object.
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            **reserved,
            "csi": _csi(volume, name, job.namespace or "default"),
        },
    }


def _csi(volume: Volume, name: str, namespace: str) -> Json:
    """Return the driver's part, its secrets in the job's namespace where no other is said."""
    said = {"driver": volume.csi["driver"], "volumeHandle": name, **volume.csi}
    for key, value in said.items():
        if key.endswith("SecretRef"):
            said[key] = {**value, "namespace": value.get("namespace", namespace)}
    return said


def _claim_of(job: Job, name: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": _metadata(job, name),
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "volumeName": _volume_name(job, name),
            # Without the empty class the cluster's default class would make a new disk.
            "storageClassName": "",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
