"""What the desk makes of the API's JSON: states, columns, pages, findings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.contract import INDEX_ANNOTATION, KILLED_ANNOTATION, QUEUE_LABEL, SPEC_ANNOTATION
from launcher.desk.doctor import checks
from launcher.desk.errors import Problem
from launcher.desk.jobs import answers, describe, job_state, lookup, tables
from launcher.desk.jobs.lookup import JobGang
from launcher.kube import refusals
from launcher.pod.gang.protocol import codec
from launcher.pod.gang.protocol.messages import Generation, LeaderMessage, Stage

Json = dict[str, Any]
NOW = datetime(2026, 11, 18, 12, 0, 0, tzinfo=UTC)
SEEDS_ROW = "0\tpaddle-cluster-job\t<nil>\t1\t2017-05-24T07:52:45Z\t<nil>\t1\n"


def a_job(
    name: str = "paddle-cluster-job-trainer", *, leads: bool = True, spec: Json | None = None, killed: bool = False,
    queue: str = "", **status: object,
) -> Json:  # fmt: skip
    annotations = (
        {SPEC_ANNOTATION: json.dumps({"entry": "python train.py", "pservers": 2, "trainers": 3})} if leads else {}
    )
    if killed:
        annotations[KILLED_ANNOTATION] = "true"
    labels = {"paddle-launcher/job": "paddle-cluster-job", **({QUEUE_LABEL: queue} if queue else {})}
    return {
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {"parallelism": 3, **(spec or {})},
        "status": status,
    }


def a_pod(state: Json, *, phase: str = "Running", role: str = "paddle-job", index: str = "1") -> Json:
    return {
        "metadata": {"name": f"pod-{index}", "labels": {role: "j"}, "annotations": {INDEX_ANNOTATION: index}},
        "spec": {"containers": [{"name": "trainer"}]},
        "status": {"phase": phase, "containerStatuses": [{"state": state, "restartCount": 0}]},
    }


def test_what_runs_in_a_pod_and_its_queue_are_told() -> None:
    found = a_job(queue="team-a")
    found["metadata"]["annotations"][SPEC_ANNOTATION] = json.dumps({"runtime": "torch", "processes": "gpu"})
    page = describe.job_page(gang(found), "n")
    assert all(line in page for line in ("runtime:     torch\n", "processes:   gpu\n", "queue:       team-a\n"))


def test_beside_a_sidecar_a_pod_is_what_its_own_container_is() -> None:
    """Statuses come sorted by name, the pod's own container among them."""
    found = a_pod({"terminated": {"exitCode": 3}}, phase="Running")
    found["spec"]["containers"].append({"name": "proxy"})
    (own,) = found["status"]["containerStatuses"]
    proxy = {"name": "proxy", "state": {"running": {}}, "restartCount": 5}
    found["status"]["containerStatuses"] = [proxy, {**own, "name": "trainer"}]
    pod = job_state.kube_pod(found)
    assert (pod.code, pod.restarts, pod.container) == (3, 0, "trainer")


def gang(*jobs: Json) -> JobGang:
    found = lookup.gang_of(tuple(map(job_state.kube_job, jobs)))
    assert found
    return found


def ended(kind: str) -> list[Json]:
    when = "2026-11-18T10:00:00Z"
    return [{"type": kind, "status": "True", "reason": "Why", "message": "so", "lastTransitionTime": when}]


def test_a_jobs_row_is_the_seeds() -> None:
    found = gang(a_job(active=1, failed=1, startTime="2017-05-24T07:52:45Z"))
    assert tables.line(tables.job_row(0, found)) == SEEDS_ROW


def test_only_a_complete_job_has_a_completion() -> None:
    failed = gang(a_job(conditions=ended("Failed"), failed=3))
    assert tables.job_row(0, failed)[5] is None
    complete = gang(a_job(conditions=ended("Complete"), completionTime="2026-11-18T10:00:00Z"))
    assert tables.job_row(0, complete)[5] == "2026-11-18T10:00:00Z"


@pytest.mark.parametrize(
    ("trainers", "pservers", "state"),
    [
        ({}, {}, "Starting"),
        ({"active": 3, "ready": 3}, {}, "Starting"),
        ({"active": 3, "ready": 3}, {"active": 3, "ready": 3}, "Running"),
        ({"active": 1, "ready": 1, "succeeded": 2}, {"active": 3, "ready": 3}, "Running"),
        ({"active": 1, "ready": 0, "succeeded": 2}, {"active": 3, "ready": 3}, "Starting"),
        ({"succeeded": 3}, {"active": 3, "ready": 3}, "Running"),
        ({"conditions": ended("Complete")}, {"active": 3}, "Complete"),
        ({"active": 3, "ready": 3}, {"conditions": ended("Failed")}, "Failed"),
        ({"conditions": ended("Failed")}, {"active": 3, "ready": 3}, "Failed"),
        ({"active": 1, "spec": {"suspend": True}, "killed": True}, {}, "Killed"),
        ({"spec": {"suspend": True}, "killed": True, "queue": "q"}, {}, "Killed"),
        ({"spec": {"suspend": True}}, {}, "Queued"),
        ({"spec": {"suspend": True}, "startTime": "2026-11-18T10:00:00Z"}, {}, "Suspended"),
        ({"spec": {"suspend": True}, "startTime": "2026-11-18T10:00:00Z", "queue": "q"}, {}, "Queued"),
        ({"active": 3, "ready": 3, "killed": True}, {"active": 3, "ready": 3}, "Running"),
        ({"active": 3, "ready": 3}, {"spec": {"suspend": True}, "killed": True}, "Killed"),
        ({"active": 3, "ready": 3}, {"spec": {"suspend": True}}, "Queued"),
        ({"spec": {"suspend": True}, "conditions": ended("Complete")}, {}, "Complete"),
    ],
)
def test_a_gangs_state_is_that_of_all_its_jobs(trainers: Json, pservers: Json, state: str) -> None:
    other = a_job("paddle-cluster-job-pserver", leads=False, **pservers)
    assert gang(other, a_job(**trainers)).state == state
    assert gang(other, a_job(**trainers)).lead.name == "paddle-cluster-job-trainer"


@pytest.mark.parametrize(
    ("trainers", "told", "held", "left"),
    [
        ({}, "is starting", "", False),
        ({"startTime": "T"}, "is starting since T", "", False),
        ({"conditions": ended("Failed")}, "has failed since 2026-11-18T10:00:00Z", "", True),
        ({"spec": {"suspend": True}, "killed": True}, "was killed", "", True),
        ({"spec": {"suspend": True}, "queue": "team"}, "is queued", "the queue team starts it", False),
        ({"spec": {"suspend": True}, "queue": "q", "startTime": "T"}, "is queued", "the queue q starts it", True),
        ({"spec": {"suspend": True}}, "is queued", "`paddlectl resume paddle-cluster-job` lets it go on", False),
        ({"spec": {"suspend": True}, "startTime": "T"}, "is suspended",
         "`paddlectl resume paddle-cluster-job` lets it go on", True),
    ],
)  # fmt: skip
def test_a_job_says_how_it_is_and_what_lets_it_go_on(trainers: Json, told: str, held: str, left: bool) -> None:
    found = gang(a_job(**trainers))
    assert (found.told(), found.held, found.left) == (f"job paddle-cluster-job {told}", held, left)


@pytest.mark.parametrize(
    ("state", "why", "stuck", "code"),
    [
        ({"running": {}}, "", False, None),
        ({"waiting": {"reason": "ContainerCreating"}}, "ContainerCreating", False, None),
        (
            {"waiting": {"reason": "ErrImagePull", "message": "no"}},
            "its image cannot be pulled (ErrImagePull): no",
            True,
            None,
        ),
        (
            {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
            "ended with 137 (OOMKilled; it has no limit: the node ran out)",
            False,
            137,
        ),
        ({"terminated": {"exitCode": 0, "reason": "Completed"}}, "ended with 0", False, 0),
    ],
)
def test_a_pod_says_what_holds_it_up_or_how_it_ended(state: Json, why: str, stuck: bool, code: int | None) -> None:
    pod = job_state.kube_pod(a_pod(state))
    assert (pod.why, pod.stuck, pod.code, pod.title) == (why, stuck, code, "trainer-1")


@pytest.mark.parametrize(
    ("first", "why", "stuck", "code"),
    [
        ({"waiting": {"reason": "ImagePullBackOff"}}, "its image cannot be pulled (ImagePullBackOff)", True, None),
        ({"terminated": {"exitCode": 1, "reason": "Error"}}, "ended with 1", False, 1),
        ({"terminated": {"exitCode": 0}}, "PodInitializing", False, None),
        ({"running": {}}, "PodInitializing", False, None),
        ({"waiting": {"reason": "PodInitializing"}}, "PodInitializing", False, None),
    ],
)
def test_a_pod_whose_first_container_gets_no_further_says_so(
    first: Json, why: str, stuck: bool, code: int | None
) -> None:
    pod = a_pod({"waiting": {"reason": "PodInitializing"}}, phase="Pending")
    pod["status"]["initContainerStatuses"] = [{"state": first}]
    found = job_state.kube_pod(pod)
    assert (found.why, found.stuck, found.code, found.begun) == (why, stuck, code, False)


def test_what_runs_beside_a_container_that_has_begun_says_nothing_of_it() -> None:
    """As a proxy of a mesh, which is ended after it."""
    pod = a_pod({"terminated": {"exitCode": 0}}, phase="Succeeded")
    pod["status"]["initContainerStatuses"] = [{"state": {"terminated": {"exitCode": 143}}}]
    found = job_state.kube_pod(pod)
    assert (found.why, found.code, found.begun) == ("ended with 0", 0, True)


@pytest.mark.parametrize(("label", "flag"), [("paddle-job", "-memory"), ("paddle-job-pserver", "-psmemory")])
def test_a_pod_that_used_up_its_memory_has_its_limit_and_the_flag(label: str, flag: str) -> None:
    killed = a_pod({"terminated": {"exitCode": 137, "reason": "OOMKilled"}})
    killed["metadata"]["labels"] = {label: "j"}
    killed["spec"]["containers"] = [{"resources": {"limits": {"memory": "1Gi"}}}]
    told = f"ended with 137 (OOMKilled; its memory limit is 1Gi: submit with more {flag})"
    assert job_state.kube_pod(killed).why == told


def a_warning(job: str, when: str, message: str = "no", *, field: str = "lastTimestamp") -> Json:
    return {"involvedObject": {"kind": "Job", "name": job}, field: when, "reason": "FailedCreate", "message": message}


@pytest.mark.parametrize(
    ("events", "made", "said"),
    [
        ([], "", ""),
        ([a_warning("other-trainer", "2026-11-18T10:00:00Z")], "", ""),
        ([a_warning("j-trainer", "2026-11-18T10:00:00Z", "full\n 3 of 3")], "", "FailedCreate: full 3 of 3"),
        ([a_warning("j-trainer", "2026-11-18T10:00:00Z")], "2026-11-18T10:00:00Z", "FailedCreate: no"),
        ([a_warning("j-trainer", "2026-11-18T10:00:00Z")], "2026-11-18T10:00:01Z", ""),
        (
            [a_warning("j-trainer", f"2026-11-18T10:00:0{at}Z", f"the {at}.") for at in (1, 3, 2)],
            "2026-11-18T10:00:02Z",
            "FailedCreate: the 3.",
        ),
        (
            [a_warning("j-trainer", "2026-11-18T10:00:00.123456Z", field="eventTime")],
            "2026-11-18T10:00:00Z",
            "FailedCreate: no",
        ),
        ([{"involvedObject": {"name": "j-trainer"}}], "", ": "),
    ],
)
def test_what_is_said_against_a_jobs_pods_counts_until_one_is_made(events: list[Json], made: str, said: str) -> None:
    pod = a_pod({})
    pod["metadata"].update(name="j-trainer-0-abcde", creationTimestamp=made)
    other = a_pod({})
    other["metadata"].update(name="j-pserver-0-abcde", creationTimestamp="2026-11-18T11:00:00Z")
    pods = [job_state.kube_pod(each) for each in (pod, other)]
    assert job_state.newest_warning(events, ("j-trainer", "j-pserver"), pods) == said


@pytest.mark.parametrize(
    ("status", "short"),
    [
        ({}, True),
        ({"active": 2}, True),
        ({"active": 3}, False),
        ({"active": 1, "succeeded": 2}, False),
        ({"spec": {"suspend": True}}, False),
        ({"conditions": ended("Failed")}, False),
    ],
)
def test_a_job_that_goes_on_wants_all_its_pods(status: Json, short: bool) -> None:
    assert job_state.kube_job(a_job(**status)).short == short


def test_pods_are_in_order_of_role_and_rank() -> None:
    found = [
        job_state.kube_pod(a_pod({}, role=role, index=at))
        for role in ("paddle-job-pserver", "paddle-job")
        for at in ("10", "9")
    ]
    assert [each.title for each in job_state.in_order(found)] == [
        "trainer-9",
        "trainer-10",
        "pserver-9",
        "pserver-10",
    ]


def test_last_words_are_shown_once_for_all_who_have_them() -> None:
    states = {"terminated": {"exitCode": 3, "message": "trainer 1 failed\nwith\x1b[31m this"}}
    pods = [job_state.kube_pod(a_pod(states, phase="Failed", index=at)) for at in ("0", "1")]
    assert describe.failures(pods) == "\nlast words of pod-0, pod-1\n  trainer 1 failed\n  with?[31m this\n"


def test_what_the_gangs_leader_says_is_shown() -> None:
    """As a launcher writes it."""
    generation = Generation(number=2, members=(), digest="d", resume=3, restarts=1, cause="trainer 1 failed")
    word = codec.plain_values(LeaderMessage(stage=Stage.TRAINING, generation=generation))
    members = [{"address": "10.0.0.1", "role": "trainer", "rank": 0, "phase": "training", "progress": {"pass": 4}}]
    assert (
        describe.gang_page({"word": word, "members": members})
        == """
the gang, according to its leader
stage:       training
generation:  2
restarts:    1
after pass:  3
began for:   trainer 1 failed
address   role     rank  phase     progress
10.0.0.1  trainer  0     training  pass=4
"""
    )
    ledgers: list[Any] = [{"kept": 60.0, "training": 20.0, "waiting": 20}, {"kept": 40.0, "tea": 9, "lost": "x"}, 7]
    members = [{"address": "10.0.0.1", "seconds": each} for each in ledgers]
    page = describe.gang_page({"word": word, "members": members})
    assert "goodput:     85.7 % so far: 71.4 % kept, 14.3 % training, 14.3 % waiting\n" in page
    assert "goodput" not in describe.gang_page({"word": word, "members": []})
    assert describe.gang_page({}) == describe.gang_page({"word": 3}) == ""


def test_what_failed_last_is_shown_with_its_node() -> None:
    generation = Generation(number=4, members=(), digest="d", restarts=3, regained=2)
    word = codec.plain_values(LeaderMessage(stage=Stage.TRAINING, generation=generation))
    lost = {"at": "2026-01-01T00:00:00Z", "run": "k", "generation": 1, "node": "node-b", "role": "node", "rank": 1}
    failures = [{**lost, "code": 76, "lost": True, "reason": "node 1 is gone"}, {"node": 3}, 7]
    page = describe.gang_page({"word": word, "members": [], "failures": failures})
    assert "restarts:    3, of which new passes gave 2 back\n" in page
    assert page.endswith(
        """
the last failures
at                    node    role  rank  code  reason
2026-01-01T00:00:00Z  node-b  node  1     76    node 1 is gone
                      3
"""
    )
    assert "last failures" not in describe.gang_page({"word": word, "failures": 3})


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(("metadata", "status", "spec", "name", "conditions", "type", "containerStatuses", "state",
                         "terminated", "exitCode", "labels", "annotations", "restartCount", "parallelism",
                         SPEC_ANNOTATION)),
        inner, max_size=5),
    max_leaves=15,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(("metadata", "status", "spec")), ANY))
def test_nothing_that_an_api_could_send_raises(found: Mapping[str, Any]) -> None:
    job, pod = job_state.kube_job(found), job_state.kube_pod(found)
    (whole,) = lookup.gangs_of([job]) or (JobGang(jobs=(job,)),)
    assert tables.line(tables.job_row(0, whole, wide=True, now=NOW)).count("\n") == 1
    assert tables.line(tables.worker(pod, wide=True)).count("\n") == 1
    assert describe.pods_page([pod])
    assert describe.job_page(whole, "n")
    values = {"job": answers.job_status(whole, "n"), "asked": describe.job_asked(whole)}
    assert json.loads(answers.values_text({**values, "worker": answers.job_worker(pod)}, "json"))
    assert answers.job_events([found, {"involvedObject": found, "message": found.get("spec")}])


@given(st.binary(max_size=80), st.integers(300, 599))
def test_a_refusal_is_one_line(body: bytes, status: int) -> None:
    assert "\n" not in str(refusals.refusal(status, body, host="h", who="w"))


@pytest.mark.parametrize(
    ("status", "message", "who", "sentence"),
    [
        (
            401,
            "Unauthorized",
            "datacenter 'd'",
            "expired or belongs to another cluster; put a new one into `password:`",
        ),
        (
            401,
            "Unauthorized",
            "context 'c'",
            "expired or belongs to another cluster; log in again, as you do for kubectl",
        ),
        (403, "jobs is forbidden: u cannot list", "u", "not allowed: jobs is forbidden: u cannot list"),
        (
            403,
            "exceeded quota: q",
            "u",
            "namespace's quota has no room: exceeded quota: q; `paddlectl get quota` shows",
        ),
        (403, "exceeded quota: q", "", "h answers 403: exceeded quota: q"),
        (
            403,
            "webhook w denies it",
            "u",
            "answers 403: webhook w denies it; ask an administrator of the namespace for",
        ),
        (302, "moved", "datacenter 'd'", "it wants another address, or a login: check `endpoint:` of datacenter 'd'"),
        (404, "404 page not found", "context 'c'", "or an older one: check the server's address in context 'c'"),
        (404, "the server could not find it", "u", "this is no Kubernetes API, or an older one: check the server's"),
        (404, 'namespaces "n" not found', "u", "choose another namespace with -namespace, or ask an administrator"),
        (404, 'pods "p" not found', "u", "somebody removed, made or changed it meanwhile: run the command again"),
        (
            409,
            'jobs "j" already exists',
            "u",
            "somebody removed, made or changed it meanwhile: run the command again",
        ),
        (
            429,
            "too many",
            "u",
            "answers 429: too many; it is overloaded or restarts: run the command again in a minute",
        ),
        (504, "late", "u", "answers 504: late; it is overloaded or restarts: run the command again in a minute"),
        (
            500,
            "boom",
            "u",
            "answers 500: boom; run the command again; if this stays, tell the cluster's administrator",
        ),
        (422, "no such field", "u", "h answers 422: no such field"),
        (500, "x" * 700, "", f"h answers 500: {'x' * 597}..."),
    ],
)
def test_a_refusal_names_the_remedy(status: int, message: str, who: str, sentence: str) -> None:
    refused = refusals.refusal(status, json.dumps({"message": message}).encode(), host="h", who=who)
    assert sentence in str(refused)
    assert (refused.status, refused.message) == (status, message if len(message) < 600 else sentence[-600:])


NO_CONTEXT = "it has no current context: `kubectl config use-context NAME` sets one"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Invalid kube-config file. Expected key current-context in /c", NO_CONTEXT),
        ("Invalid kube-config file. Expected object with name  in /a b/contexts list", NO_CONTEXT),
        ("Expected object with name me@a.b/c in x/contexts list", "it has no context me@a.b/c"),
        ("Expected object with name c in x/clusters list", "it has no cluster c"),
        ("Invalid kube-config file. Expected key cluster in /c", "Expected key cluster"),
        ("'5ecret' is no token", "it is incomplete"),
    ],
)
def test_what_is_wrong_with_a_kubeconfig_is_said_without_its_values(text: str, said: str) -> None:
    assert refusals.broken(text) == said


@pytest.mark.parametrize(
    ("modes", "phase", "sentence"),
    [
        (["ReadWriteMany"], "Bound", "is bound, and every node can write to it"),
        (["ReadWriteOnce"], "Bound", "is bound, for one node at a time (ReadWriteOnce): enough for jobs of one pod"),
        (["ReadWriteOncePod"], "Bound", "is bound, for one pod at a time (ReadWriteOncePod): enough for jobs of"),
        ([], "Bound", "is bound, and every node can write to it"),
        (["ReadWriteMany"], "Pending", "is Pending, not Bound"),
    ],
)
def test_doctor_on_a_claim(modes: list[str], phase: str, sentence: str) -> None:
    found = checks.claim({"metadata": {"name": "mfs"}, "spec": {"accessModes": modes}, "status": {"phase": phase}})
    assert sentence in found.sentence
    assert found.good == (phase == "Bound")
    assert bool(found.remedy) != found.good


def test_doctor_on_a_quota_that_is_used_up() -> None:
    full = {"status": {"hard": {"pods": "3", "cpu": "4"}, "used": {"pods": "3", "cpu": "1"}}}
    assert checks.quota([full]).sentence == "used up: pods 3 of 3"
    assert checks.quota([{}]).good


@pytest.mark.parametrize(
    ("used", "limit", "full"),
    [
        ("12", "10", True),
        ("4000m", "4", True),
        ("3999m", "4", False),
        ("4000000000", "4G", True),
        ("4Gi", "4G", True),
        ("4G", "4Gi", False),
        ("1e3", "1k", True),
        ("1E3", "1E", False),
        (".5", "500m", True),
        ("-1", "0", False),
        ("what", "what", True),
        ("what", "4", False),
        (None, "4", False),
        ("9" * 60, "4", False),
    ],
)
def test_a_quota_is_compared_by_its_numbers(used: object, limit: str, full: bool) -> None:
    found = checks.quota([{"status": {"hard": {"pods": limit}, "used": {"pods": used}}}])
    assert found.good != full


def test_what_was_not_checked_is_neither_well_nor_a_failure() -> None:
    well, bad, left = checks.quota([]), checks.no_volume("d"), checks.unknown("dns", "why")
    assert [each.mark for each in (well, bad, left)] == ["ok", "FAIL", "--"]
    assert left.good
    assert checks.summary([well, bad]) == ""
    assert checks.summary([well, left, left]) == "2 of 3 were not checked (--)"


def shm_pod(name: str, *volumes: Json, path: str = "/dev/shm") -> Json:  # a pod's own
    box = {"volumeMounts": [{"name": "shm", "mountPath": path}]}
    return {"metadata": {"name": name}, "spec": {"containers": [box], "volumes": list(volumes)}}


def test_doctor_on_shared_memory() -> None:
    def limit(size: str) -> Json:
        return {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": size}}

    bare, own = shm_pod("bare", path="/work"), shm_pod("own", limit("512Mi"))
    small, free = shm_pod("small", limit("64Mi")), shm_pod("free", {"name": "shm", "emptyDir": {}})
    assert checks.shm_finding([own]).sentence == "every pod of a job has 512 MiB of /dev/shm or more"
    assert checks.shm_finding([own, shm_pod("q", limit("2Gi"))]).good
    assert checks.shm_finding([free]).sentence == "every pod of a job has a /dev/shm without a limit of its own"
    assert checks.shm_finding([own, bare, small]).sentence == "64 MiB of /dev/shm or less in bare, small"
    assert checks.shm_finding([]).mark == "--"


def test_doctor_on_pods_registries_and_names() -> None:
    assert not checks.pods_finding("violates PodSecurity", "n").good
    assert checks.pods_finding("", "n").sentence == "the namespace admits the pods of jobs: n"
    assert checks.registries_finding(["a", "b"]).sentence == "pull secrets for submit -registry: a, b"
    assert checks.registries_finding([]).sentence.startswith("no pull secret")
    assert checks.dns([{"endpoints": [{"conditions": {"ready": True}}]}]).good
    assert not checks.dns([{"endpoints": [{"conditions": {"ready": False}}]}, {}]).good
    assert not checks.no_volume("d").good
    assert checks.rights([], "n").good
    assert "missing in n: create pods" in checks.rights([("", "pods", "create")], "n").sentence
    assert checks.unknown("dns", "why").sentence == "not checked: why"


@pytest.mark.parametrize("text", ["{", "[]", "[" * 60000])
def test_a_job_whose_description_cannot_be_read_is_shown_all_the_same(text: str) -> None:
    job = a_job()
    job["metadata"]["annotations"] = {SPEC_ANNOTATION: text}
    assert job_state.kube_job(job).spec == {"unreadable": True}
    job["metadata"]["deletionTimestamp"] = "2026-11-18T10:00:00Z"
    assert job_state.kube_job(job).state == "Terminating"


def test_a_pod_that_no_node_takes_says_why() -> None:
    pod = a_pod({}, phase="Pending")
    no = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}
    pod["status"] = {"phase": "Pending", "conditions": [{"type": "Initialized"}, no]}
    assert job_state.kube_pod(pod).why == "no node takes it: 0/3 nodes are available"


@pytest.mark.parametrize("name", ["a=b", "a,b", "", "a b", "a/b", "ü"])
def test_what_cannot_be_a_name_is_no_selector(name: str) -> None:
    with pytest.raises(Problem, match="cannot be a job's name"):
        lookup.checked_name(name)


def test_a_page_without_pods_or_events_says_so() -> None:
    assert describe.pods_page(()) == "\nno pods\n"
    assert describe.events(()) == "\nno events (a cluster usually keeps them for an hour)\n"


ABSENT = 'failed to start container: runc create failed: exec: "start_paddle": executable file not found in $PATH'
NO_PYTHON = 'exec: "/opt/launcher/bin/python": stat /opt/launcher/bin/python: no such file or directory: unknown'
OTHER_CPU = "exec /opt/launcher/bin/python: exec format error\n"


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (
            {"terminated": {"exitCode": 128, "reason": "StartError", "message": ABSENT}},
            "ended with 128 (StartError; any has no launcher: -inject always brings it into the pods, or use an ",
        ),
        (
            {"terminated": {"exitCode": 127, "reason": "ContainerCannotRun", "message": ABSENT}},
            "ended with 127 (ContainerCannotRun; any has no launcher: -inject always",
        ),
        (
            {"waiting": {"reason": "CreateContainerError", "message": "`/root/start.sh`: No such file or directory"}},
            "its container cannot be made (CreateContainerError): `/root/start.sh`: No such file or directory; any ",
        ),
        (
            {"waiting": {"reason": "CrashLoopBackOff"}, "last": {"message": ABSENT, "exitCode": 128}},
            "CrashLoopBackOff; any has no launcher",
        ),
        (
            {"terminated": {"exitCode": 255, "reason": "Error", "message": OTHER_CPU}},
            "ended with 255 (any is for another CPU than the node's: build it for that one, or choose its nodes by ",
        ),
    ],
)
def test_a_pod_whose_image_is_the_reason_says_what_to_do(state: Json, why: str) -> None:
    pod = a_pod({key: value for key, value in state.items() if key != "last"})
    pod["spec"]["containers"][0]["image"] = "any"
    if "last" in state:
        pod["status"]["containerStatuses"][0]["lastState"] = {"terminated": state["last"]}
    found = job_state.kube_pod(pod)
    assert found.why.startswith(why)
    assert (found.stuck, found.image, found.begun) == (True, "any", False)


def test_the_desks_own_pods_are_of_an_image_that_the_datacenter_names() -> None:
    pod = a_pod({"terminated": {"exitCode": 128, "reason": "StartError", "message": NO_PYTHON}})
    pod["spec"]["containers"] = [{"name": "files", "image": "any"}]
    pod["status"]["containerStatuses"][0]["name"] = "files"
    assert "any has no launcher: set `image:` or `launcher-image:` of the datacenter" in job_state.kube_pod(pod).why


def test_an_image_without_the_launcher_fails_where_the_files_of_the_root_are_made() -> None:
    pod = a_pod({"waiting": {"reason": "PodInitializing"}}, phase="Failed")
    pod["spec"]["initContainers"] = [{"name": "root-files", "image": "any"}]
    failed = {"exitCode": 128, "reason": "StartError", "message": NO_PYTHON}
    pod["status"]["initContainerStatuses"] = [{"name": "root-files", "state": {"terminated": failed}}]
    found = job_state.kube_pod(pod)
    assert "any has no launcher: -inject always brings it into the pods" in found.why
    assert found.stuck


def test_a_program_that_ends_so_is_no_trouble_with_the_image() -> None:
    said = {"exitCode": 71, "reason": "Error", "message": "cannot start 'x': Exec format error; is it in the image"}
    found = job_state.kube_pod(a_pod({"terminated": said}))
    assert (found.why, found.stuck, found.begun) == ("ended with 71", False, True)


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (
            {"waiting": {"reason": "ErrImagePull", "message": "not found"}},
            "the launcher's image cannot be pulled (ErrImagePull): not found",
        ),
        ({"terminated": {"exitCode": 71, "reason": "Error", "message": "noexec"}}, "ended with 71"),
        (
            {"terminated": {"exitCode": 128, "reason": "StartError", "message": NO_PYTHON}},
            "ended with 128 (StartError; init does not bring the launcher: set `launcher-image:` or",
        ),
        (
            {"terminated": {"exitCode": 255, "reason": "Error", "message": OTHER_CPU}},
            "ended with 255 (init is for another CPU than the node's",
        ),
    ],
)
def test_what_brings_the_launcher_is_told_apart_from_the_pods_own_image(first: Json, why: str) -> None:
    pod = a_pod({"waiting": {"reason": "PodInitializing"}}, phase="Pending")
    pod["spec"]["initContainers"] = [{"name": "launcher", "image": "init"}]
    pod["status"]["initContainerStatuses"] = [{"name": "launcher", "state": first}]
    found = job_state.kube_pod(pod)
    assert found.why.startswith(why)
    assert found.image == "init"
    assert found.message == first.get("terminated", {}).get("message", "")
