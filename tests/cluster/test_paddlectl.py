"""The seeds' sessions at the desk, on the real cluster: as typed, trained to the end, shown in the seeds' columns."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.files import HOME, SERVES, put_package, user_of
from tests.cluster.kubectl import Kubectl
from tests.cluster.volumes import EXAMPLE, Volume
from tests.support.desks import User
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("images")

WHEN = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
NAME = "my-paddlecloud-job"
PROGRAM = (
    """\
import os, sys, time
print("lead", os.environ["TRAINING_ROLE"], os.environ["PADDLE_CLOUD_CURRENT_DATACENTER"], flush=True)
if os.environ["TRAINING_ROLE"] == "TRAINER":
    print(open("here.txt").read().strip(), os.environ["TRAINER_ID"], flush=True)
    time.sleep(float(sys.argv[1]))
"""
    + SERVES
)


@pytest.fixture
def me(namespace: Kubectl, claimed: Volume, tmp_path: Path) -> User:
    """A user with the shipped Role, a volume and a package on it."""
    put_package(claimed, "ctr_demo_package", {"train.py": PROGRAM, "here.txt": "trainer of the package\n"})
    return user_of(namespace, tmp_path)


def submit(*more: str, package: str = f"{HOME}/ctr_demo_package", seconds: int = 3) -> tuple[str, ...]:
    """Return the seeds' command, small enough for the ground."""
    return (
        "submit", "-jobname", NAME, "-cpu", "100m", "-gpu", "0", "-memory", "256Mi", "-parallelism", "2",
        "-pscpu", "100m", "-pservers", "1", "-psmemory", "256Mi", *more,
        *(() if "-topology" in more else ("-entry", f"/opt/launcher/bin/python train.py {seconds}")), package,
    )  # fmt: skip


def test_the_seeds_session_with_a_program_on_the_volume(namespace: Kubectl, me: User) -> None:
    done = me(*submit("-passes", "1"))
    assert (done.code, done.out) == (0, ""), done.err
    head, row = me("get", "jobs").rows
    assert head == ["NUM", "NAME", "SUCC", "FAIL", "START", "COMP", "ACTIVE"]
    assert row[:2] == ["0", NAME]
    assert re.fullmatch(WHEN, row[4])
    followed = me("logs", "-f", NAME, timeout=150)
    assert followed.code == 0, followed.err
    for rank in (0, 1):
        assert f"trainer-{rank} | trainer of the package {rank}" in followed.out
    assert "lead PSERVER datacenter1" in followed.out
    waited = me("wait", NAME, "--timeout", "60s", timeout=90)
    assert waited.code == 0, waited.err
    row = me("get", "jobs").rows[1]
    assert row[2:4] == ["2", "<nil>"]
    assert re.fullmatch(WHEN, row[5])
    assert row[6] == "<nil>"
    head, *workers = me("get", "workers", NAME).rows
    assert head == ["NAME", "STATUS", "START"]
    assert {status for _, status, _ in workers} == {"Succeeded"}
    assert all(re.fullmatch(WHEN, start) for _, _, start in workers)
    assert me("logs", "-role", "pserver", "-n", "3", NAME).out
    page = me("describe", NAME)
    assert "state:       Complete" in page.out
    assert me("kill", "-rm", NAME).code == 0
    wait_until(lambda: not namespace.items("jobs,services,networkpolicies"), timeout=60, every=0.5)


def test_a_v1_job_trains_to_the_end(me: User, claimed: Volume, tmp_path: Path) -> None:
    package = claimed.path / "v1_package"
    package.mkdir()
    (package / "trainer_config.py").write_bytes((EXAMPLE / "trainer_config.py").read_bytes())
    job = claimed.path / "jobs" / NAME
    job.mkdir(parents=True)
    words = (EXAMPLE / "make_data.py", job, "--samples", "600", "--shards=2")
    subprocess.run([sys.executable, *map(str, words)], check=True, timeout=60)
    for directory in (job.parent, job):
        directory.chmod(0o777)
    said = me(*submit("-topology", "trainer_config.py", "-passes", "2", package=f"{HOME}/v1_package"))
    assert said.code == 0, said.err
    waited = me("wait", NAME, "--timeout", "150s", timeout=180)
    assert waited.code == 0, waited.err + me("logs", NAME).out
    assert (job / "output" / "pass-00001" / "done").exists()
    assert (job / "output" / "node_1" / "train.log").stat().st_size
    page = tmp_path / "page.html"
    reported = me("report", NAME, "-o", str(page), timeout=120)
    assert (reported.code, reported.out) == (0, f"{page}\n"), reported.err
    assert "Metrics by pass" in page.read_text()  # which no event has: from the trainers' logs


def test_a_job_is_followed_killed_in_the_middle_and_submitted_again(me: User) -> None:
    with me.started(*submit("--follow", seconds=300)) as following:
        assert following.stdout
        assert any("trainer of the package" in line for line in following.stdout)
        running = me("wait", NAME, "--for", "running", "--timeout", "90s", timeout=120)
        assert running.code == 0, running.err
        page = me("describe", NAME)
        assert "trainer-0" in page.out
        assert me("kill", NAME).code == 0
        assert following.wait(timeout=120) == 1  # it was killed: it is incomplete
    wait_until(lambda: me("get", "workers", NAME).rows == [["NAME", "STATUS", "START"]], timeout=90, every=1)
    again = me(*submit())
    assert (again.code, "was killed" in again.err) == (1, True)
    replaced = me(*submit("--replace"), timeout=200)
    assert replaced.code == 0, replaced.err
    waited = me("wait", NAME, "--timeout", "150s", timeout=180)
    assert waited.code == 0, waited.err


def test_a_training_is_suspended_in_the_middle_and_resumed(me: User, claimed: Volume) -> None:
    """It costs no restart, and the logs of before are on the volume meanwhile."""
    until = f"while not os.path.exists('{HOME}/go'): time.sleep(0.1)"
    program = PROGRAM.replace("time.sleep(float(sys.argv[1]))", until)
    (claimed.path / "ctr_demo_package" / "train.py").write_text(program)
    assert me(*submit()).code == 0
    wait_until(lambda: me("logs", NAME).out.count("trainer of the package") == 2, timeout=120, every=1)
    assert me("suspend", NAME).code == 0
    wait_until(lambda: me("get", "workers", NAME).rows == [["NAME", "STATUS", "START"]], timeout=90, every=1)
    assert me("get", "jobs", "-o", "wide").rows[1][7] == "Suspended"
    assert "trainer of the package" in me("logs", NAME, timeout=120).out
    (claimed.path / "go").touch()
    resumed = me("resume", NAME)
    assert (resumed.code, "goes on" in resumed.err) == (0, True)
    waited = me("wait", NAME, "--timeout", "150s", timeout=180)
    assert waited.code == 0, waited.err
    lines = (claimed.path / "jobs" / NAME / "output" / "events.jsonl").read_text().splitlines()
    made = [event for event in map(json.loads, lines) if event["event"] == "generation_made"]
    assert [(each["generation"], each["restarts"]) for each in made] == [(1, 0), (2, 0)]


def test_ctrl_c_leaves_the_job_alone(me: User) -> None:
    with me.started(*submit("--follow", seconds=300)) as following:
        assert following.stdout
        assert any("trainer of the package" in line for line in following.stdout)
        following.send_signal(signal.SIGINT)
        assert following.wait(timeout=30) == 130
    assert me("get", "jobs", "-o", "wide").rows[1][7] in ("Running", "Starting")


def test_an_image_that_no_registry_has_is_told(me: User) -> None:
    said = me(*submit("-image", "127.0.0.1:1/nowhere/nothing:1", "--follow"), timeout=150)
    assert said.code == 1
    assert "its image cannot be pulled" in said.err


def test_a_registrys_session(namespace: Kubectl, me: User) -> None:
    made = me(
        "registry", "-username", "u", "-server", "registry.example.com", "-name", "my-registry", stdin="5ecret\n"
    )
    assert (made.code, made.out) == (0, ""), made.err
    head, row = me("get", "registry").rows
    assert (head[1], row[:2]) == ("NAME", ["0", "my-registry"])
    assert me(*submit("-registry", "my-registry", seconds=60)).code == 0
    running = me("wait", NAME, "--for", "running", "--timeout", "90s", timeout=120)
    assert running.code == 0, running.err
    pods = namespace.items("pods")
    assert all(pod["spec"]["imagePullSecrets"] == [{"name": "my-registry"}] for pod in pods)
    assert me("kill", "-rm", NAME).code == 0
    assert me("delete", "registry", "my-registry").code == 0
    assert me("get", "registry").rows == [head]


def test_doctor_is_content_and_leaves_nothing(namespace: Kubectl, me: User, claimed: Volume) -> None:
    wait_until(lambda: "is bound" in me("doctor", *me.without("image")).out, timeout=30, every=0.5)
    said = me("doctor", timeout=200)
    assert said.code == 0, said.out + said.err
    for line in (
        "the claim mfs is bound, and every node can write to it",
        "can be pulled and has the launcher",
        "a pod can write, create exclusively and rename files on it",
        "two pods on two nodes share the volume: a file was seen after ",
        "a headless name had the addresses of all 2 pods after ",
    ):
        assert line in said.out, said.out
    wait_until(lambda: not namespace.items("pods,services"), timeout=60, every=0.5)
    assert not list(claimed.path.glob(".paddlectl*"))


def test_doctor_tells_what_an_image_lacks(namespace: Kubectl, me: User, box: str) -> None:
    said = me("doctor", *me.saying(image=box), timeout=200)
    assert said.code == 1
    assert re.search(r"FAIL  image   .* has no /opt/launcher of this version", said.out), said.out
    wait_until(lambda: not namespace.items("pods"), timeout=60, every=0.5)
