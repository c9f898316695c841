"""Whether an image can train: a pod as a job would have, the launcher brought into it, that starts it once."""

from __future__ import annotations

import secrets
import time
from contextlib import closing
from typing import Any

from launcher.contract import FILES_LABEL, MANAGED_BY, NAME
from launcher.desk.config import datacenters
from launcher.desk.doctor import checks, probe_findings
from launcher.desk.doctor.checks import Finding
from launcher.desk.errors import Problem, Refused
from launcher.desk.files.visit import POD_PATIENCE, registries, remove_left_over
from launcher.desk.jobs import job_state
from launcher.desk.jobs.job_state import KubePod
from launcher.desk.jobs.submit import dry_pod, gone
from launcher.desk.jobs.watch import changes
from launcher.desk.session import Desk
from launcher.job import PaddleJob

_Json = dict[str, Any]

_LONGEST = 600  # seconds; where the desk is killed, it ends by itself


def image_finding(desk: Desk, job: PaddleJob) -> Finding:
    """Return whether a job of its image could start; nothing is left of the pod that has tried it."""
    manifest = job.manifests()[0]
    try:
        dry_pod(desk.api, manifest)
        pod = _tried(desk, trying_pod(f"paddlectl-doctor-{secrets.token_hex(4)}", manifest, registries(desk)))
    except Refused as refused:
        if refused.status != 403:
            raise
        return checks.unknown("image", f"{job.runtime_image} in a pod: {refused.message}")
    except Problem as problem:
        return checks.pods_finding(str(problem), desk.api.namespace)
    return probe_findings.image_tried(job.runtime_image, job.launcher_image, pod)


def asked_job(desk: Desk, image: str, inject: str) -> PaddleJob:
    """Return the smallest job of an image; a JobError tells what is wrong with the image."""
    job = PaddleJob(
        job_name="doctor",
        entry_point="true",
        runtime="env",
        trainers=1,
        memory="256Mi",
        cpu_nums="100m",
        runtime_image=image,
        inject=inject,
        restricted=datacenters.restricted(desk.datacenter),
    )
    found = datacenters.with_defaults(datacenters.with_launcher(job, desk.datacenter), desk.datacenter)
    found.manifests()  # where it is checked as a whole
    return found


def trying_pod(name: str, job: _Json, pulls: tuple[str, ...]) -> _Json:
    """Return a pod of a Job that says of which version its launcher is, and ends."""
    template = job["spec"]["template"]
    first = {key: value for key, value in template["spec"]["containers"][0].items() if not key.endswith("Probe")}
    first["command"] = [first["command"][0], "--version"]
    first["terminationMessagePolicy"] = "FallbackToLogsOnError"
    spec = {**template["spec"], "containers": [first], "activeDeadlineSeconds": _LONGEST}
    spec["imagePullSecrets"] = [{"name": each} for each in pulls]
    metadata = {"name": name, "labels": {MANAGED_BY: NAME, FILES_LABEL: name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _tried(desk: Desk, manifest: _Json) -> KubePod:
    """Return the pod as it was when it ended, could not start, or took too long."""
    name = manifest["metadata"]["name"]
    remove_left_over(desk)
    begun = time.monotonic()
    try:
        desk.api.create(manifest)
        every = changes(desk.api, "Pod", f"{FILES_LABEL}={name}", tell=desk.terminal.note)
        with closing(every):  # Ctrl-C while a generator is only dropped would be lost
            for objects in every:
                pod = next(map(job_state.kube_pod, objects), None)
                if pod is None:
                    raise Problem("the doctor's pod was removed by someone else: run the command again")
                if pod.over or pod.stuck or time.monotonic() - begun > POD_PATIENCE:
                    return pod
    finally:
        gone(desk.api, "Pod", name)
    raise AssertionError("the changes have no end")
