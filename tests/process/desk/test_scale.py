"""A job whose number of pods may change, against a real API server: what submit makes of it, and scale then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from launcher import job
from tests.grounds.api.control_plane import ControlPlane, place_of
from tests.process.desk.test_paddlectl import RUNNING, ended, pods
from tests.support.desks import User
from tests.support.serving import served
from tests.support.waiting import wait_until

NAME = "as-wide-as-can-be"
SUBMIT = (
    "submit", "-jobname", NAME, "-members", "2:4", "-spares", "1", "-runtime", "torch", "-cpu", "100m",
    "-entry", "python train.py", "/pfs/datacenter1/home/me/package",
)  # fmt: skip
# What Kueue's own webhook refuses (0.15.2, where a part may be admitted), in the words in which it does.
OF_KUEUE = "spec.parallelism: Forbidden: cannot change when partial admission is enabled and the job is not suspended"
QUEUE = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "team"}}}


def submitted(plane: ControlPlane, me: User) -> None:
    said = me(*SUBMIT)
    assert (said.code, said.out) == (0, ""), said.err
    assert f"job {NAME} is submitted to {me.namespace}: 2 to 4 pods, 1 spare; " in said.err
    wait_until(lambda: len(pods(plane, me)) == 5, timeout=30, every=0.1)
    wait_until(lambda: the_job(plane, me)["status"].get("startTime"), timeout=30, every=0.1)


def the_job(plane: ControlPlane, me: User) -> dict[str, Any]:
    return plane.ask("GET", f"{place_of('Job', me.namespace)}/{NAME}")


def width(plane: ControlPlane, me: User) -> tuple[int, int]:
    spec = the_job(plane, me)["spec"]
    return spec["parallelism"], spec["completions"]


def indexes(plane: ControlPlane, me: User) -> list[str]:
    """Return the indexes of the pods that are not being removed."""
    there = [each["metadata"] for each in plane.items(me.namespace, "Pod")]
    label = "batch.kubernetes.io/job-completion-index"
    return sorted(each["annotations"][label] for each in there if "deletionTimestamp" not in each)


def refused(me: User, *words: str) -> str:
    """Return the one sentence with which a command is refused."""
    said = me("scale", *words)
    assert (said.code, said.out) == (1, ""), said.err
    (sentence,) = said.err.splitlines()
    return sentence


def test_a_running_job_gets_fewer_and_more_pods_and_ends_by_the_first_success(plane: ControlPlane, me: User) -> None:
    submitted(plane, me)
    assert width(plane, me) == (5, 5)
    less = me("scale", NAME, "2")
    assert (less.code, f"job {NAME} goes from 5 to 2 pods" in less.err) == (0, True), less.err
    wait_until(lambda: indexes(plane, me) == ["0", "1"], timeout=30, every=0.1)
    assert width(plane, me) == (2, 2)
    assert "pods:        2 of 2 to 4 pods, each with cpu 100m" in me("describe", NAME).out
    assert f"job {NAME} has 2 pods already" in me("scale", NAME, "2").err
    assert f"job {NAME} goes from 2 to 5 pods" in me("scale", f"job/{NAME}", "5").err
    wait_until(lambda: indexes(plane, me) == ["0", "1", "2", "3", "4"], timeout=30, every=0.1)
    asked = json.loads(me("describe", NAME, "-o", "json").out)["asked"]["pods"]
    assert (asked["number"], asked["members"]) == (5, {"least": 2, "most": 4, "spares": 1})
    plane.become(me.namespace, next(name for name in pods(plane, me) if f"{NAME}-3-" in name), ended(0))
    wait_until(lambda: me("get", "jobs", "-o", "wide").rows[1][7] == "Complete", timeout=30, every=0.3)
    assert f"job {NAME} is complete since " in (late := refused(me, NAME, "3"))
    assert late.endswith(": only a job that goes on can be scaled")


def test_what_a_pod_ends_with_alone_is_survived_and_a_programs_failure_ends_the_job(
    plane: ControlPlane, me: User
) -> None:
    """A disruption costs nothing; a pod's own failure one of its index; a program's is the verdict of all."""
    submitted(plane, me)
    for name in pods(plane, me):
        plane.become(me.namespace, name, RUNNING)
    drained = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    ends(plane, me, 4, {**ended(143), "conditions": [drained]})
    assert not the_job(plane, me)["status"].get("failed")
    ends(plane, me, 3, ended(74))
    wait_until(lambda: the_job(plane, me)["status"].get("failed") == 1, timeout=30, every=0.2)
    assert not the_job(plane, me)["status"].get("failedIndexes")
    plane.become(me.namespace, of_index(plane, me, 0)[0], ended(1, "trainer 0 exited with 1"))
    late = me("wait", NAME, "--timeout", "20s")
    assert (late.code, "exited with 1" in late.err) == (1, True), late.err
    assert me("get", "jobs", "-o", "wide").rows[1][7] == "Failed"


def of_index(plane: ControlPlane, me: User, index: int) -> list[str]:
    return [name for name in pods(plane, me) if name.startswith(f"{NAME}-{index}-")]


def ends(plane: ControlPlane, me: User, index: int, status: dict[str, object]) -> None:
    """Have the pod of an index end, and wait until there is another one."""
    (old,) = of_index(plane, me, index)
    plane.become(me.namespace, old, status)
    wait_until(lambda: {*of_index(plane, me, index)} - {old}, timeout=30, every=0.2)


def test_a_number_that_cannot_be_is_refused_and_nothing_is_changed(plane: ControlPlane, me: User) -> None:
    submitted(plane, me)
    before = the_job(plane, me)["metadata"]["generation"]
    assert refused(me, NAME, "0") == (
        f"paddlectl: job {NAME} cannot have 0 pods: `paddlectl suspend {NAME}` ends all until it is resumed"
    )
    for number in ("1", "6"):
        told = f"job {NAME} cannot have {number} pods: expected 2 to 5 (2 to 4 pods, 1 spare)"
        assert refused(me, NAME, number) == f"paddlectl: {told}"
    assert "is in no queue, and changes its number of pods while it runs: leave --suspend out" in refused(
        me, "--suspend", NAME, "3"
    )
    assert "there is no job nowhere in the namespace" in refused(me, "nowhere", "3")
    for wrong in ((NAME,), (NAME, "many"), (NAME, "-1"), (NAME, "3", "4")):
        said = me("scale", *wrong)
        assert (said.code, len(said.err.splitlines()), "`paddlectl help scale` shows how" in said.err) == (2, 1, True)
    assert the_job(plane, me)["metadata"]["generation"] == before


def test_a_job_of_one_width_says_how_it_gets_another(me: User) -> None:
    words = ("submit", "-jobname", "fixed", "-parallelism", "3", "-runtime", "torch", "-entry", "x", "/package")
    assert me(*words).code == 0
    assert refused(me, "fixed", "2") == (
        "paddlectl: job fixed has a fixed number of pods, 3: submit it again with -members MIN:MAX and --replace"
    )


def test_a_suspended_job_goes_on_with_another_number_of_pods_also_from_python(
    plane: ControlPlane, me: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted(plane, me)
    assert me("suspend", NAME).code == 0
    wait_until(lambda: not pods(plane, me), timeout=30, every=0.2)
    monkeypatch.setenv("HOME", str(me.home))
    mine = job.get(NAME, namespace=me.namespace)
    assert mine.scale(3).startswith(f"job {NAME} has 3 pods when it goes on, 5 before; `paddlectl resume {NAME}`")
    with pytest.raises(job.JobError, match="leave suspend out"):
        mine.scale(2, suspend=True)
    mine.resume()
    wait_until(lambda: indexes(plane, me) == ["0", "1", "2"], timeout=30, every=0.1)


def test_a_manifest_that_lets_two_pods_of_one_index_run_is_told_of(plane: ControlPlane, me: User) -> None:
    """One that somebody has written after ours, without what he did not know."""
    made = job.PaddleJob(
        job_name=NAME, runtime_image="repo/paddle:1", entry_point="x", runtime="torch", members="2:4",
        volumes=(job.Volume("/v", claim="mfs"),), namespace=me.namespace,
    ).manifests()[0]  # fmt: skip
    for policy in ("podReplacementPolicy", "podFailurePolicy"):
        del made["spec"][policy]
    plane.make(me.namespace, made)
    told = me("describe", NAME).out
    assert f"{NAME} lacks `podReplacementPolicy: Failed`: two pods of one index may run for a whole grace" in told
    remedy = f"kubectl patch job {NAME} -p '"
    change = told.partition(remedy)[2].partition("'")[0]
    plane.change(f"{place_of('Job', me.namespace)}/{NAME}", json.loads(change))
    assert "podReplacementPolicy" not in me("describe", NAME).out


def test_a_job_in_a_queue_is_suspended_for_it(plane: ControlPlane, me: User) -> None:
    """The API server refuses what Kueue's webhook does, by a rule."""
    submitted(plane, me)
    with refusing(plane, me.namespace):
        plane.change(f"{place_of('Job', me.namespace)}/{NAME}", QUEUE)
        told = refused(me, NAME, "3")
        assert "is in the queue team, and Kueue refuses another number of pods while it runs: with --suspend" in told
        done = me("scale", "--suspend", NAME, "3")
        assert (done.code, "the queue team starts it again with 3 pods" in done.err) == (0, True), done.err
        assert width(plane, me) == (3, 3)
        assert the_job(plane, me)["spec"]["suspend"] is True


@contextmanager
def refusing(plane: ControlPlane, namespace: str) -> Iterator[None]:
    """Have another width of a Job that runs refused, in a namespace, as by Kueue."""
    place = "/apis/admissionregistration.k8s.io/v1"
    rule = {
        "expression": "oldObject.spec.suspend == true || object.spec.parallelism == oldObject.spec.parallelism",
        "message": OF_KUEUE,
    }
    jobs = {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["jobs"]}
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    policy = {"matchConstraints": {"resourceRules": [jobs]}, "validations": [rule]}
    binding = {"policyName": namespace, "validationActions": ["Deny"], "matchResources": here}
    for kind, spec in (("validatingadmissionpolicies", policy), ("validatingadmissionpolicybindings", binding)):
        plane.ask("POST", f"{place}/{kind}", {"metadata": {"name": namespace}, "spec": spec})
    try:
        wait_until(lambda: not taken(plane, namespace), timeout=30, every=0.2)
        yield
    finally:
        for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            plane.ask("DELETE", f"{place}/{kind}/{namespace}")


def taken(plane: ControlPlane, namespace: str) -> bool:
    """Return whether another width would be taken of the Job that runs."""
    path = f"{place_of('Job', namespace)}/{NAME}?dryRun=All"
    try:
        plane.change(path, {"spec": {"parallelism": 2, "completions": 2}})
    except AssertionError as error:
        return OF_KUEUE not in str(error)
    return True


@dataclass(slots=True)
class Queue:
    """Kueue with room for a job as it was: resumes it at once, so many times before somebody is quicker."""

    resumes: int
    job: dict[str, Any] = field(default_factory=dict)
    changes: list[dict[str, Any]] = field(default_factory=list)

    def patched(self, spec: dict[str, Any]) -> bool:
        """Take a change, or refuse it."""
        self.changes.append(spec)
        if "parallelism" in spec and not self.job["spec"]["suspend"]:
            return False
        self.job["spec"] |= spec
        if spec.get("suspend") and self.resumes:
            self.resumes -= 1
            self.job["spec"]["suspend"] = False
        return True


@contextmanager
def serving(queue: Queue) -> Iterator[str]:
    """Serve the one Job of a queue; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send(
                200, {"metadata": {}, "items": [queue.job]} if urlsplit(self.path).path.endswith("jobs") else {}
            )

        def do_PATCH(self) -> None:
            spec = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["spec"]
            denied = {"kind": "Status", "message": f'admission webhook "vjob.kb.io" denied the request: {OF_KUEUE}'}
            self.send(*((200, queue.job) if queue.patched(spec) else (403, denied)))

        def send(self, code: int, found: dict[str, Any]) -> None:
            body = json.dumps(found).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as host:
        yield f"http://{host}"


@pytest.mark.parametrize(("resumes", "code"), [(0, 0), (3, 0), (10**6, 1)])
def test_a_queue_that_resumes_the_job_in_between_is_outrun_or_told_of(
    tmp_path: Path, resumes: int, code: int
) -> None:
    made = job.PaddleJob(
        job_name=NAME, runtime_image="repo/paddle:1", entry_point="x", runtime="torch", members="2:5", queue="team",
        volumes=(job.Volume("/v", claim="c"),),
    )  # fmt: skip
    queue = Queue(resumes=resumes, job=made.manifests()[0])
    queue.job["spec"]["suspend"] = False
    me = User(home=tmp_path)
    with serving(queue) as endpoint:
        me.configure(username="me", password="t", namespace="team", image="repo/paddle:1", endpoint=endpoint)  # noqa: S106  # opens nothing
        said = me("scale", "--suspend", NAME, "3")
    assert said.code == code, said.err
    if code:
        assert f"the queue resumed the Job {NAME} each of 20 times before it was changed: try it again" in said.err
        return
    assert queue.job["spec"]["parallelism"] == queue.job["spec"]["completions"] == 3
    assert queue.changes == [{"suspend": True}, {"parallelism": 3, "completions": 3}] * (resumes + 1)
