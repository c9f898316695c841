"""Sends a job's manifests: all are checked first, then created in order; a failure leaves nothing behind."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from launcher.desk.config import datacenters
from launcher.desk.errors import Problem, Refused
from launcher.desk.files import paths
from launcher.desk.jobs import lookup
from launcher.desk.jobs.watch import changes
from launcher.desk.session import Desk
from launcher.job.description import Job
from launcher.job.problem import Parameter
from launcher.kube import claims, kinds

if TYPE_CHECKING:
    from launcher.desk.jobs.api_calls import Api

_Json = dict[str, Any]

REPLACE = Parameter("replace", value=True)
# Words of a refusal for something that is not there, and the parameter that names it.
CHOSEN = {"no PriorityClass with name": "priority", "error looking up service account": "service_account"}
CLAIM_REMEDY = (
    "use a claim that is ReadWriteMany, or a job of one pod (-parallelism 1, and a -runtime without pservers)"
)
GONE_WITHIN = 180.0  # seconds; a pod has a grace of 60


def submit(job: Job, desk: Desk, *, replace: bool = False) -> _Json:
    """Create a job, with `replace` in the place of one of its name, and return how it is."""
    job = _equipped(job, desk)
    return send_job(job, checked_manifests(job, desk, replace=replace), desk, replace=replace)


def send_job(job: Job, manifests: tuple[_Json, ...], desk: Desk, *, replace: bool) -> _Json:
    """Create a job of manifests that were checked, and return how it is."""
    if replace:
        _removed(desk, job.job_name)
    create(desk.api, manifests, desk.terminal.warn)
    return {"name": job.job_name, "namespace": desk.api.namespace, "state": "Starting"}


def dry_run(job: Job, desk: Desk, *, replace: bool = False) -> str:
    """Let the API server check all of a job, create nothing, and return the manifests as YAML."""
    job = _equipped(job, desk)
    checked_manifests(job, desk, replace=replace)
    return str(placed(job, desk.api.namespace))


def _equipped(job: Job, desk: Desk) -> Job:
    if not job.datacenter:
        return datacenters.with_launcher(job, desk.datacenter)
    if paths.is_remote(job.trainer_package_path):
        paths.package(job.trainer_package_path, desk.datacenter)
    return datacenters.equipped(job, desk.datacenter)


def placed(job: Job, namespace: str) -> Job:
    """Return the job with the namespace that it will be in."""
    return job if job.namespace else dataclasses.replace(job, namespace=namespace)


def checked_manifests(job: Job, desk: Desk, *, replace: bool) -> tuple[_Json, ...]:
    """Return the manifests, or say why the cluster would not take them; nothing is created."""
    api = desk.api
    there = lookup.looked_up(api, job.job_name)
    if there and not replace:
        raise Problem(
            f"{there.told()}, and a name is for one job at a time: use ", REPLACE, ", or choose another name"
        )
    manifests = placed(job, api.namespace).manifests()
    for each in manifests:  # first: an overlay may have brought anything
        _dry(api, each, replace=replace)
    for told in _needed(api, manifests):
        desk.terminal.warn(told)
    if told := lookup.no_queue(api, job.queue):  # it would wait without end
        raise Problem(f"{told}; choose one by ", Parameter("queue", given=False))
    for each in manifests:
        if each["kind"] == "Job":
            dry_pod(api, each)
    return manifests


def create(api: Api, manifests: tuple[_Json, ...], warn: Callable[[str], None]) -> None:
    """Create all, the first as owner of the rest; on any failure remove what was made."""
    made: list[tuple[str, str]] = []
    owner: _Json = {}
    try:
        for each in manifests:
            made.append((each["kind"], each["metadata"]["name"]))  # also where its answer never comes
            found = api.create(owned(each, owner))
            owner = owner or found
    except Refused as refused:
        kind, name = made.pop()
        left = _undone(api, made, warn)
        raise refused.about(
            f"the {kind} {name} was not created" + ("" if left else ", and nothing of the job is left")
        ) from None
    except BaseException:
        _undone(api, made, warn)
        raise


def _undone(api: Api, made: Sequence[tuple[str, str]], warn: Callable[[str], None]) -> int:
    """Remove what was made, the last one first, and return how many of it could not be removed."""
    left = 0
    for kind, name in reversed(made):
        try:
            gone(api, kind, name)
        except Problem as problem:
            left += 1
            warn(f"{kind} {name} may have been created, and could not be removed: {problem}")
    return left


def owned(manifest: _Json, owner: _Json) -> _Json:
    """Return a manifest that names its owner, with which it is removed; a cluster-wide object has none."""
    if not owner or manifest["kind"] in kinds.CLUSTER_WIDE:
        return manifest
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [reference]}}


def _removed(desk: Desk, name: str, *, within: float = GONE_WITHIN) -> None:
    """Remove a job with all that it owns, and wait until its pods are gone."""
    import tenacity  # which help does without

    remove(desk.api, name)
    until = time.monotonic() + within
    left = _left(desk, "Job", name, until) or _left(desk, "Pod", name, until)
    if not left:  # a volume in use goes after its last pod
        left = tenacity.Retrying(
            retry=tenacity.retry_if_result(bool),
            wait=tenacity.wait_fixed(1),
            stop=tenacity.stop_after_delay(until - time.monotonic()),
            retry_error_callback=lambda state: state.outcome and state.outcome.result(),
        )(made_for, desk.api, name)
    if left:
        told = ", ".join(left)
        raise Problem(f"{told} of the old job {name} is still there after {within:.0f} s: wait, and submit again")


def _left(desk: Desk, kind: str, name: str, until: float) -> tuple[str, ...]:
    """Wait until a job has no object of a kind any more, and return the first of those that are still there."""
    for objects in changes(desk.api, kind, kinds.of_job(name), tell=desk.terminal.note):
        if not objects or time.monotonic() > until:
            return tuple(each["metadata"]["name"] for each in objects[:5])
    raise AssertionError("the changes have no end")


def remove(api: Api, name: str) -> bool:
    """Delete a job's Jobs, what they own, and the volumes made for it; return whether any was there."""
    selector = kinds.of_job(lookup.checked_name(name))
    volumes = made_for(api, name)
    gang = lookup.looked_up(api, name)
    for each in gang.jobs if gang else ():
        gone(api, "Job", each.name)
    for kind in ("Service", "NetworkPolicy", "PersistentVolumeClaim", "ConfigMap"):
        for left in _listed(api, kind, selector):
            gone(api, kind, left["metadata"]["name"])
    for volume in volumes:
        gone(api, "PersistentVolume", volume)
    return bool(gang or volumes)


def made_for(api: Api, name: str) -> tuple[str, ...]:
    """Return the PersistentVolumes that were made for a job: no Job can own them, and they may outlive it."""
    found = _listed(api, "PersistentVolume", kinds.of_job(name))
    ours = (each for each in found if each["spec"].get("claimRef", {}).get("namespace") == api.namespace)
    return tuple(str(each["metadata"]["name"]) for each in ours)


def _listed(api: Api, kind: str, selector: str) -> tuple[_Json, ...]:
    """Return a job's objects of a kind; a user without the right to list them has made none."""
    try:
        return tuple(api.listed(kind, selector))
    except Refused as refused:
        if refused.status != 403:
            raise
        return ()


def gone(api: Api, kind: str, name: str) -> None:
    """Delete an object that may be gone already."""
    if not name:
        return
    try:
        api.delete(kind, name)
    except Refused as refused:
        if refused.status != 404:
            raise


def _needed(api: Api, manifests: tuple[_Json, ...]) -> tuple[str, ...]:
    """Refuse a job whose Secret or claim does not exist: its pods would wait without end; return doubts on claims."""
    made = {each["metadata"]["name"] for each in manifests}
    pods = [each["spec"]["template"]["spec"] for each in manifests if each["kind"] == "Job"]
    volumes = [each for pod in pods for each in pod.get("volumes", ())]
    sources = [each for pod in pods for container in pod["containers"] for each in container.get("envFrom", ())]
    pulls = [each["name"] for pod in pods for each in pod.get("imagePullSecrets", ())]
    secrets = [each["secret"] for each in volumes if "secret" in each]
    secrets += [each["secretRef"] for each in sources if "secretRef" in each]
    names = [each.get("secretName") or each.get("name") for each in secrets if not each.get("optional")]
    claimed = [each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each]
    for name in dict.fromkeys(pulls):  # the pods of both roles have the same
        _there(api, "Secret", name, "`paddlectl get registry` lists them, `paddlectl registry` makes one")
    for name in dict.fromkeys(names):
        _there(api, "Secret", name, f"`kubectl create secret generic {name} --from-literal=KEY=VALUE` makes one")
    remedy = "it is the volume behind /pfs: ask the namespace's administrator"
    theirs = [name for name in dict.fromkeys(claimed) if name not in made]
    found = [_there(api, "PersistentVolumeClaim", name, remedy) for name in theirs]
    number = sum(each["spec"]["parallelism"] for each in manifests if each["kind"] == "Job")
    return tuple(each for claim in found for each in claim_doubts(claim, number))


def claim_doubts(claim: _Json, pods: int) -> tuple[str, ...]:
    """Return what is to be known of a claim that not all pods of a job can have, where they are on several nodes."""
    whose = claims.only_for(claim)
    if not whose or pods == 1:
        return ()
    told = f"the claim {claim['metadata']['name']} is {', '.join(claims.modes(claim))}, for {whose} at a time"
    return (f"{told}: those of the job's {pods} pods that it is not for wait without end; {CLAIM_REMEDY}",)


def _there(api: Api, kind: str, name: str, remedy: str) -> _Json:
    """Return an object that has to be there, nothing of it without the right to look."""
    try:
        return api.get(kind, name)
    except Refused as refused:
        if refused.status == 404:
            raise Problem(f"there is no {kind} {name} in the namespace {api.namespace}: {remedy}") from None
        if refused.status != 403:  # the pods' events will show it
            raise
        return {}


def _dry(api: Api, manifest: _Json, *, replace: bool) -> None:
    try:
        api.create(manifest, dry=True)
    except Refused as refused:
        name = f"{manifest['kind']} {manifest['metadata']['name']}"
        if refused.status == 409:
            _in_the_way(api, manifest, name, replace=replace)
            return
        if refused.status in (400, 422):
            raise Problem(f"the API server rejects the {name}: {refused.message}") from None
        raise


def _in_the_way(api: Api, manifest: _Json, name: str, *, replace: bool) -> None:
    """Refuse an object whose name is taken; one of an earlier job of this name may be replaced."""
    there = api.get(manifest["kind"], manifest["metadata"]["name"])
    labels, wanted = there["metadata"].get("labels") or {}, manifest["metadata"]["labels"]
    if any(labels.get(key) != value for key, value in wanted.items()):
        raise Problem(f"a {name} exists and does not belong to this job: remove it, or choose another name")
    if not replace:
        raise Problem(f"the {name} of an earlier job of this name exists: use ", REPLACE, ", or choose another name")


def dry_pod(api: Api, job: _Json) -> None:
    """Have a pod of a Job checked: a Job is taken whatever pods it asks for, and they are refused one by one."""
    template = job["spec"]["template"]
    metadata = {**template["metadata"], "name": f"{job['metadata']['name']}-check"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    try:
        api.create(pod, dry=True)
    except Refused as refused:
        if refused.status == 403 and " cannot create " in refused.message:
            return  # the right to create Jobs does not include pods
        if "exceeded quota" in refused.message:
            raise Problem(
                f"the quota has no room for a single pod: {refused.message}; `paddlectl get quota` shows what is used"
            ) from None
        if "violates PodSecurity" in refused.message:
            raise Problem(
                f"the namespace {api.namespace} does not allow such pods: {refused.message}; use claims "
                "as volumes, or another namespace with ",
                Parameter("namespace", given=False),
            ) from None
        if refused.status in (400, 403, 422):
            told = f"the API server rejects a pod of {job['metadata']['name']}: {refused.message}"
            others = [Parameter(name, given=False) for said, name in CHOSEN.items() if said in refused.message]
            raise Problem(told, *(part for each in others for part in ("; choose another by ", each))) from None
        raise
