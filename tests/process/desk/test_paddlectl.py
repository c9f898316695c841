"""The seeds' sessions at the desk, against a real API server: what is typed, what is shown, what is there then."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from launcher import job
from tests.grounds.api.control_plane import ControlPlane
from tests.grounds.api.nodes import node_of
from tests.support.desks import User
from tests.support.terminals import on_a_terminal
from tests.support.waiting import wait_until

SUBMIT = (
    "submit", "-jobname", "my-paddlecloud-job", "-cpu", "1", "-gpu", "0", "-memory", "1Gi", "-parallelism", "3",
    "-pscpu", "1", "-pservers", "2", "-psmemory", "1Gi", "-passes", "1", "-entry", "python trainer_config.py",
    "/pfs/datacenter1/home/me/ctr_demo_package",
)  # fmt: skip
NAME = "my-paddlecloud-job"
WHEN = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
RUNNING: dict[str, object] = {
    "phase": "Running",
    "startTime": "2026-11-18T10:00:00Z",
    "conditions": [{"type": "Ready", "status": "True"}],
    "containerStatuses": [
        {"name": "trainer", "ready": True, "restartCount": 0, "image": "i", "imageID": "i", "state": {"running": {}}}
    ],
}


def ended(code: int, message: str = "") -> dict[str, object]:
    """Return the status of a pod that ended."""
    state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "message": message}}
    container = {"name": "trainer", "ready": False, "restartCount": 0, "image": "i", "imageID": "i", "state": state}
    return {"phase": "Failed" if code else "Succeeded", "containerStatuses": [container], "conditions": []}


def pods(plane: ControlPlane, me: User, role: str = "") -> list[str]:
    """Return the names of a job's pods, once all are there."""
    found = [each["metadata"]["name"] for each in plane.items(me.namespace, "Pod")]
    return sorted(name for name in found if role in name)


def all_become(plane: ControlPlane, me: User, status: dict[str, object], role: str = "") -> None:
    for name in pods(plane, me, role):
        plane.become(me.namespace, name, status)


def submitted(plane: ControlPlane, me: User, *words: str) -> None:
    said = me(*SUBMIT, *words)
    assert (said.code, said.out) == (0, ""), said.err
    begun(plane, me)


def begun(plane: ControlPlane, me: User) -> None:
    """Wait for all pods, and for the controller to note that the Jobs have started: it makes the pods first.

    One that is suspended in between has never started: it waits as one does that a queue holds.
    """
    wait_until(lambda: len(pods(plane, me)) == 5, timeout=30, every=0.1)
    wait_until(
        lambda: all(each["status"].get("startTime") for each in plane.items(me.namespace, "Job")),
        timeout=30, every=0.1,
    )  # fmt: skip


def everything(plane: ControlPlane, me: User) -> set[str]:
    kinds = ("Job", "Service", "NetworkPolicy", "Pod")
    return {f"{kind}/{each['metadata']['name']}" for kind in kinds for each in plane.items(me.namespace, kind)}


def test_a_submitted_job_is_listed_in_the_seeds_columns(plane: ControlPlane, me: User) -> None:
    submitted(plane, me)
    head, row = me("get", "jobs").rows
    assert head == ["NUM", "NAME", "SUCC", "FAIL", "START", "COMP", "ACTIVE"]
    assert row[:4] == ["0", NAME, "<nil>", "<nil>"]
    assert re.fullmatch(WHEN, row[4])
    assert row[5] == "<nil>"
    wait_until(lambda: me("get", "jobs").rows[1][6] == "3", timeout=20, every=0.5)
    head, *rows = me("get", "workers", NAME).rows
    assert head == ["NAME", "STATUS", "START"]
    assert len(rows) == 5
    assert all(re.fullmatch(rf"{NAME}-(trainer|pserver)-\d-[a-z0-9]{{5}}", name) for name, _, _ in rows)
    assert {tuple(rest) for _, *rest in rows} == {("Pending", "<nil>")}


def test_all_of_a_job_belongs_to_its_trainers_and_goes_with_them(plane: ControlPlane, me: User) -> None:
    submitted(plane, me)
    owner = next(each for each in plane.items(me.namespace, "Job") if each["metadata"]["name"] == f"{NAME}-trainer")
    for kind in ("Service", "NetworkPolicy"):
        for each in plane.items(me.namespace, kind):
            assert [ref["uid"] for ref in each["metadata"]["ownerReferences"]] == [owner["metadata"]["uid"]]
    assert me("kill", "-rm", NAME).code == 0
    wait_until(lambda: not everything(plane, me), timeout=30, every=0.2)
    assert len(me("get", "jobs").rows) == 1
    gone = me("logs", NAME)
    assert gone.code == 1
    assert f"there is no job {NAME} in the namespace {me.namespace}" in gone.err


def test_a_name_that_is_taken_is_told_and_replaced_only_where_it_is_said(plane: ControlPlane, me: User) -> None:
    submitted(plane, me)
    before = {each["metadata"]["uid"] for each in plane.items(me.namespace, "Job")}
    again = me(*SUBMIT)
    assert again.code == 1
    assert re.search(rf"job {NAME} is starting since {WHEN}, .* --replace", again.err)
    assert {each["metadata"]["uid"] for each in plane.items(me.namespace, "Job")} == before
    submitted(plane, me, "--replace")
    assert before.isdisjoint(each["metadata"]["uid"] for each in plane.items(me.namespace, "Job"))


def test_a_job_runs_and_completes(plane: ControlPlane, me: User) -> None:
    submitted(plane, me)
    late = me("wait", NAME, "--for", "running", "--timeout", "1s")
    assert late.code == 1
    assert "after 1 s" in late.err
    all_become(plane, me, RUNNING)
    assert me("wait", NAME, "--for", "running", "--timeout", "30s").code == 0
    assert me("get", "workers", NAME).rows[1][1:] == ["Running", "2026-11-18T10:00:00Z"]
    all_become(plane, me, ended(0))
    assert me("wait", NAME, "--timeout", "30s").code == 0
    row = me("get", "jobs").rows[1]
    assert row[2:4] == ["3", "<nil>"]
    assert re.fullmatch(WHEN, row[5])
    assert row[6] == "<nil>"
    other = me("wait", NAME, "--for", "failed")
    assert (other.code, "is complete" in other.err) == (1, True)
    killed = me("kill", NAME)
    assert (killed.code, "is complete" in killed.err) == (0, True)


def test_a_failure_is_told_with_the_gangs_own_words(plane: ControlPlane, me: User) -> None:
    submitted(plane, me)
    message = "trainer 1 failed first: exit code 3\nlast lines of its log:\nValueError: no such slot"
    all_become(plane, me, ended(3, message))
    said = me("wait", NAME, "--timeout", "60s")
    assert said.code == 1
    assert "ended with 3: trainer 1 failed first: exit code 3" in said.err
    page = me("describe", NAME)
    assert page.code == 0
    for part in ("state:       Failed", "python trainer_config.py", "ended with 3", "  ValueError: no such slot"):
        assert part in page.out
    # The controller writes its events, and the trainers' own count, when it comes to them: one failed Job is enough
    # for the job to have failed, and that may be the pservers'.
    made = r"SuccessfulCreate +my-paddlecloud-job-trainer"
    wait_until(lambda: bool(re.search(made, me("describe", NAME).out)), timeout=60)
    row = wait_until(lambda: [r for r in me("get", "jobs").rows[1:] if r[3] == "3"], timeout=60)[0]
    assert row[5] == "<nil>"


def test_an_image_that_cannot_be_pulled_ends_the_wait_with_a_remedy(plane: ControlPlane, me: User) -> None:
    submitted(plane, me)
    state = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
    container = {"name": "trainer", "ready": False, "restartCount": 0, "image": "i", "imageID": "", "state": state}
    all_become(plane, me, {"phase": "Pending", "containerStatuses": [container]})
    for words in (("wait", NAME), ("logs", "-f", NAME)):
        said = me(*words)
        assert said.code == 1
        assert "its image cannot be pulled (ImagePullBackOff): Back-off pulling image" in said.err
    assert "is repo/paddle:2.6.2 its name?" in me("wait", NAME).err
    assert "its image cannot be pulled" in me("describe", NAME).out


def test_a_killed_job_stays_in_the_list_without_pods(plane: ControlPlane, me: User, tmp_path: Path) -> None:
    submitted(plane, me)
    assert me("kill", NAME).code == 0
    wait_until(lambda: not pods(plane, me), timeout=30, every=0.2)
    row = me("get", "jobs", "-o", "wide").rows[1]
    assert (row[1], row[7]) == (NAME, "Killed")
    assert me("get", "workers", NAME).rows == [["NAME", "STATUS", "START"]]
    with node_of(plane, me.namespace, tmp_path):
        said = me("logs", NAME)
    assert said.code == 1
    assert "its log files are in /pfs/datacenter1/home/me/jobs/my-paddlecloud-job/output" in said.err
    waited = me("wait", NAME)
    assert (waited.code, "was killed" in waited.err) == (1, True)


def test_a_kill_ends_what_goes_on_alone(plane: ControlPlane, me: User) -> None:
    """As after one that broke off between the two Jobs."""
    submitted(plane, me)
    path = f"/apis/batch/v1/namespaces/{me.namespace}/jobs/{NAME}-trainer"
    plane.ask("PATCH", path, {"spec": {"suspend": True}}, "application/merge-patch+json")
    wait_until(lambda: len(pods(plane, me)) == 2, timeout=30, every=0.2)
    assert me("kill", NAME).code == 0
    wait_until(lambda: not pods(plane, me), timeout=30, every=0.2)
    again = me("kill", NAME)
    assert (again.code, "was killed" in again.err) == (0, True)


def test_a_volume_that_was_made_for_a_job_outlives_it_and_goes_with_its_successor(
    plane: ControlPlane, me: User
) -> None:
    me.configure(
        context="ground", username="me", namespace=me.namespace, image="repo/paddle:1",
        volume={"csi": {"driver": "nfs.csi.k8s.io", "volumeHandle": "h"}},
    )  # fmt: skip
    kubeconfig = str(plane.kubeconfig)
    volume = f"{me.namespace}.{NAME}-volume-1"

    def volumes() -> list[str]:
        return [each["metadata"]["name"] for each in plane.ask("GET", "/api/v1/persistentvolumes")["items"]]

    done = me(*SUBMIT, KUBECONFIG=kubeconfig)
    assert done.code == 0, done.err
    assert volumes() == [volume]
    path = f"/apis/batch/v1/namespaces/{me.namespace}/jobs/{NAME}-trainer"
    plane.ask("DELETE", path, {"propagationPolicy": "Background"})
    wait_until(lambda: not everything(plane, me), timeout=30, every=0.2)
    refused = me(*SUBMIT, KUBECONFIG=kubeconfig)
    assert (refused.code, f"the PersistentVolume {volume} of an earlier job of this name" in refused.err) == (1, True)
    replaced = me(*SUBMIT, "--replace", timeout=100, KUBECONFIG=kubeconfig)
    assert replaced.code == 0, replaced.err
    assert me("kill", "-rm", NAME, KUBECONFIG=kubeconfig).code == 0
    wait_until(lambda: not volumes(), timeout=30, every=0.2)
    assert "no job" in me("kill", "-rm", NAME, KUBECONFIG=kubeconfig).err


def test_a_dry_run_shows_what_would_be_sent_and_sends_nothing(plane: ControlPlane, me: User, tmp_path: Path) -> None:
    checked = me(*SUBMIT, "--dry-run")
    assert checked.code == 0
    assert checked.out.count("\nkind: Job\n") == 2
    assert f"{plane.server} accepts it" in checked.err
    assert everything(plane, me) == set()
    submitted(plane, me)
    taken = me(*SUBMIT, "--dry-run")
    assert (taken.code, "a name is for one job at a time: use --replace" in taken.err) == (1, True)
    assert me(*SUBMIT, "--dry-run", "--replace").code == 0
    nobody = User(home=tmp_path / "empty")
    unchecked = nobody(*SUBMIT[:-1], "-image", "repo/paddle:2.6.2", "--dry-run")
    assert unchecked.code == 0
    assert "not checked by a cluster: no cluster is configured" in unchecked.err
    assert unchecked.out.count("\nkind: Job\n") == 2


def test_a_torch_program_is_one_job_that_the_cluster_takes(me: User) -> None:
    words = (
        "submit",
        "-jobname",
        NAME,
        "-image",
        "i",
        "-parallelism",
        "3",
        "-runtime",
        "torch",
        "-entry",
        "python t.py",
    )
    said = me(*words)
    assert said.code == 0, said.err
    assert f"job {NAME} is submitted to {me.namespace}: 3 trainers; `paddlectl logs -f {NAME}`" in said.err
    told = me("describe", NAME)
    assert told.code == 0
    assert "pserver" not in told.out
    assert me("kill", "-rm", NAME).code == 0


PROGRAM = """\
from launcher import job

mine = job.PaddleJob(
    job_name="by-python", namespace="NAMESPACE", runtime_image="repo/paddle:2.6.2", entry_point="python train.py",
    trainer_package_path="/example/word2vec", pservers=1, trainers=1)
mine.dry_run()
print(mine.submit().state, mine.status().state)
try:
    mine.submit()
except job.JobError as error:
    print(error)
again = job.get("by-python", "NAMESPACE")
print(again.job_name, again.namespace)
print([each.name for each in job.jobs("NAMESPACE")] == ["by-python"], again.status() == mine.status())
seen = []
try:
    again.wait(timeout=1, on_change=seen.append)
except job.JobError:
    print([each.state for each in seen])
mine.kill()
print(mine.status().state)
mine.kill(remove=True)
try:
    job.get("by-python", "NAMESPACE")
except job.JobError as error:
    print(error)
"""


def by_python(plane: ControlPlane, me: User, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program as somebody who has a kubeconfig."""
    environ = {**me.environ(), "KUBECONFIG": str(plane.kubeconfig), "PADDLE_CONFIG": "/dev/null"}
    words = (sys.executable, "-c", program.replace("NAMESPACE", me.namespace))
    return subprocess.run(words, env=environ, capture_output=True, text=True, timeout=60, check=False)


def test_the_python_api_does_the_same_with_values_and_says_nothing(plane: ControlPlane, me: User) -> None:
    done = by_python(plane, me, PROGRAM)
    assert (done.returncode, done.stderr) == (0, "")
    first, second, third, listed, fourth, fifth, last = done.stdout.splitlines()
    assert first == "Starting Starting"
    assert re.search(r"job by-python is starting.*use replace=True", second)
    assert (third, listed) == (f"by-python {me.namespace}", "True True")
    assert fourth == "['Starting']"
    assert fifth == "Killed"
    assert "there is no job by-python" in last
    wait_until(lambda: not everything(plane, me), timeout=30, every=0.2)


SENT = """\
from launcher import job

def submitted(datacenter):
    mine = job.PaddleJob(
        job_name="by-python", datacenter=datacenter, entry_point="python train.py", trainer_package_path="package",
        pservers=1, trainers=1)
    print(mine.submit().namespace, mine.status().state)

try:
    submitted("nowhere")
except job.JobError as error:
    print(error)
submitted("datacenter1")
"""


def test_the_datacenter_that_python_names_takes_the_job(plane: ControlPlane, me: User) -> None:
    """With its volumes and its image; the current one is another."""
    path = me.home / ".paddle" / "config"
    whole = json.loads(path.read_text())
    whole["datacenters"].append({"name": "other", "endpoint": "https://127.0.0.1:1", "password": "t"})
    path.write_text(json.dumps({**whole, "current-datacenter": "other"}))
    done = subprocess.run(
        (sys.executable, "-c", SENT), env=me.environ(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    refused, taken = done.stdout.splitlines()
    assert refused == f"datacenter 'nowhere' is not in {path}: it has datacenter1, other"
    assert taken == f"{me.namespace} Starting"
    (spec, _) = (each["spec"]["template"]["spec"] for each in plane.items(me.namespace, "Job"))
    assert spec["containers"][0]["image"] == "repo/paddle:2.6.2"
    assert [each["mountPath"] for each in spec["containers"][0]["volumeMounts"] if "pfs" in each["mountPath"]] == [
        "/pfs/datacenter1/home/me",
        "/pfs/datacenter1/user/me",
    ]


WATCHED = f"""\
from launcher import job

mine = job.get("{NAME}", "NAMESPACE")
print([(each.role, each.rank, each.status, each.ready, each.started) for each in mine.workers()][2:4])
print(*{{(each.reason, each.about) for each in mine.events() if each.reason == "SuccessfulCreate"}}, sep=chr(10))
"""


def test_pods_and_events_are_values(plane: ControlPlane, me: User) -> None:
    submitted(plane, me)
    all_become(plane, me, RUNNING, "trainer")

    def told() -> list[str]:
        done = by_python(plane, me, WATCHED)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    wait_until(lambda: f"('SuccessfulCreate', '{NAME}-pserver')" in told(), timeout=60, every=0.5)
    assert (
        told()[0] == "[('trainer', 2, 'Running', True, '2026-11-18T10:00:00Z'), ('pserver', 0, 'Pending', False, '')]"
    )


def test_get_watches_jobs(plane: ControlPlane, me: User) -> None:
    with me.started("get", "jobs", "-w") as watch:
        assert watch.stdout
        assert watch.stdout.readline().startswith("NUM\tNAME")
        submitted(plane, me)
        assert f"\t{NAME}\t" in watch.stdout.readline()
        watch.send_signal(signal.SIGINT)
        assert watch.wait(timeout=20) == 130


@pytest.mark.parametrize(
    ("output", "reading"),
    [("json", json.loads), ("yaml", yaml.safe_load)],
)
def test_get_and_describe_show_values_of_ours(
    plane: ControlPlane, me: User, output: str, reading: Callable[[str], dict[str, Any]]
) -> None:
    submitted(plane, me)
    (listed,) = reading(me("get", "jobs", "-o", output).out)["items"]
    pods = reading(me("get", "workers", NAME, "-o", output).out)["items"]
    page = reading(me("describe", NAME, "-o", output).out)
    assert (listed["name"], listed["state"], listed["trainers"], listed["pservers"]) == (NAME, "Starting", 3, 2)
    assert listed.keys() == page["job"].keys() == {each.name for each in fields(job.Status)}
    assert [(each["role"], each["rank"], each["status"]) for each in pods][2:4] == [
        ("trainer", 2, "Pending"), ("pserver", 0, "Pending"),
    ]  # fmt: skip
    assert page["workers"] == pods
    assert page["asked"]["trainers"] == {
        "number": 3, "requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"},
    }  # fmt: skip
    assert page["asked"]["passes"] == "1"
    assert all(event["about"].startswith(NAME) for event in page["events"])


def test_on_a_terminal_columns_fit_and_tell_the_state(plane: ControlPlane, me: User) -> None:
    submitted(plane, me)
    code, shown = on_a_terminal(me.words("get", "jobs"), b"", **me.environ())
    assert code == 0, shown
    head, row = shown.splitlines()
    assert head.split() == ["NUM", "NAME", "SUCC", "FAIL", "START", "COMP", "ACTIVE", "STATE", "AGE"]
    assert re.fullmatch(r"\d+[sm]", row.split()[-1])
    for name, cell in (("NAME", NAME), ("SUCC", "<nil>"), ("STATE", "Starting")):
        assert row[head.index(name) :].startswith(cell)
