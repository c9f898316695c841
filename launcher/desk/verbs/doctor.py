"""`paddlectl doctor`: looks at everything that a job needs, before one fails because it is missing."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from launcher.contract import JOB_LABEL
from launcher.desk.arguments import flag, job_name
from launcher.desk.config import datacenters
from launcher.desk.config.datacenters import Datacenter
from launcher.desk.doctor import checks
from launcher.desk.doctor.checks import Finding
from launcher.desk.elastic import safety
from launcher.desk.errors import Problem, Refused
from launcher.desk.jobs import answers, lookup, submit
from launcher.desk.jobs.job_state import kube_job
from launcher.desk.jobs.registries import registries_listed
from launcher.desk.session import Desk
from launcher.desk.verbs.submit import as_typed
from launcher.job import PaddleJob
from launcher.job.template.injected import AUTO, INJECT
from launcher.kube import kinds

if TYPE_CHECKING:
    from launcher.desk.jobs.api_calls import Api

MARK_COLOURS = {"ok": 2, "--": 1, "FAIL": 5}  # green, yellow, red
AT_ONCE = 8  # questions about rights: one after the other they are seconds on a slow network
EXAMPLES = """\
  paddlectl doctor                       0 where all is well, else 1
  paddlectl doctor -image pytorch/pytorch
                                         also whether a job of this image could start
  paddlectl doctor my-job                also whether the job's shards are as its trainers look for them"""


def arguments(parser: ArgumentParser) -> None:
    """Add whose shards to look at, and which image."""
    parser.add_argument("job", nargs="?", default="", type=job_name)
    help_ = "have one pod of this image in place of two that look at the datacenter's volume and names"
    flag(parser, "image", default="", metavar="IMAGE", help=help_)
    flag(parser, "inject", choices=INJECT, default=AUTO, help="as in submit: whether the launcher is brought into it")
    flag(parser, "o", "output", choices=("json", "yaml"), default="", help="as values")


def run(given: Namespace, desk: Desk) -> int:
    """Tell what is well and what is not, with a remedy for each."""
    every = []
    for found in _findings(desk, given):
        every.append(found)
        if not given.o:
            _show(desk, found)
    if given.o:
        desk.terminal.out(answers.values_text({"findings": every}, given.o))
    elif told := checks.summary(every):
        desk.terminal.out(f"{told}\n")
    return 0 if all(found.good for found in every) else 1


def _show(desk: Desk, found: Finding) -> None:
    mark = desk.terminal.coloured(f"{found.mark:<4}", MARK_COLOURS[found.mark])
    desk.terminal.out(f"{mark}  {found.what:<7} {found.sentence}\n")
    if not found.good:
        desk.terminal.out(f"      {'':<7} -> {found.remedy}\n")


def _findings(desk: Desk, given: Namespace) -> Iterator[Finding]:
    from launcher.desk.doctor import any_image, probe  # 0.2 s, which help does without

    api, datacenter, job = desk.api, desk.datacenter, given.job
    if job:
        lookup.found(api, job)
    with as_typed():
        of_image = any_image.asked_job(desk, given.image, given.inject) if given.image else None
    yield checks.rights(_refused(api), api.namespace)
    yield _pods(api, datacenter)
    yield _looked("dns", lambda: checks.dns(api.dns()))
    claims = [each.claim for each in (datacenter.volume, datacenter.public) if each and each.claim]
    for claim in dict.fromkeys(claims):
        yield _looked("volume", lambda claim=claim: _claim(api, claim))  # type: ignore[misc]  # its default is its type
    if not datacenter.volume:
        yield checks.no_volume(datacenter.name or "the kubeconfig's context")
    yield _looked("quota", lambda: checks.quota(api.listed("ResourceQuota")))
    yield _looked("image", lambda: checks.registries_finding(each.name for each in registries_listed(api)))
    yield _looked("shm", lambda: checks.shm_finding(api.listed("Pod", f"{kinds.OURS},{JOB_LABEL}")))
    yield from _elastic(api)
    if of_image:
        yield any_image.image_finding(desk, of_image)
    else:
        yield from probe.findings(desk)
    if job:
        yield _looked("shards", lambda: probe.shards_seen(desk, job))


def _elastic(api: Api) -> Iterator[Finding]:
    """Yield a finding where there is an elastic job, also one that no submit has made."""
    try:
        if found := safety.of_elastic(map(kube_job, api.listed("Job"))):
            yield safety.elastic_finding(found)
    except Refused as refused:
        if refused.status != 403:
            raise


def _refused(api: Api) -> Iterator[tuple[str, str, str]]:
    """Yield the rights that the API server says are not there."""
    with ThreadPoolExecutor(AT_ONCE) as several:
        allowed = several.map(lambda right: _allowed(api, *right), checks.RIGHTS)
        yield from (right for right, given in zip(checks.RIGHTS, allowed, strict=True) if not given)


def _allowed(api: Api, group: str, resource: str, verb: str) -> bool:
    name, _, part = resource.partition("/")
    asked = {"namespace": api.namespace, "group": group, "resource": name, "subresource": part, "verb": verb}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "metadata": {},
        "spec": {"resourceAttributes": asked},
    }
    return bool(api.create(review).get("status", {}).get("allowed"))


def _pods(api: Api, datacenter: Datacenter) -> Finding:
    job = PaddleJob(
        job_name="doctor",
        entry_point="python train.py",
        runtime_image=datacenter.image or "none",
        volumes=datacenters.datacenter_volumes(datacenter),
        restricted=datacenters.restricted(datacenter),
    )
    try:
        submit.dry_pod(api, job.manifests()[0])
    except Problem as problem:
        return checks.pods_finding(str(problem), api.namespace)
    return checks.pods_finding("", api.namespace)


def _claim(api: Api, name: str) -> Finding:
    try:
        return checks.claim(api.get("PersistentVolumeClaim", name))
    except Refused as refused:
        if refused.status != 404:
            raise
        remedy = f"create it, or set another in the configuration: `kubectl get pvc -n {api.namespace}` lists them"
        return Finding(what="volume", good=False, sentence=f"no claim {name} is in {api.namespace}", remedy=remedy)


def _looked(what: str, look: Callable[[], Finding]) -> Finding:
    """Return a finding, or that there is no right to look."""
    try:
        return look()
    except Refused as refused:
        if refused.status != 403:
            raise
        return checks.unknown(what, refused.message)
