"""What the desk says of a job is so, on the real cluster: before its first pod, without pods, and in Python."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from launcher.job import PaddleJob
from tests.cluster.files import HOME, SERVES, put_package, user_of
from tests.cluster.kubectl import Kubectl
from tests.cluster.volumes import Volume
from tests.grounds.docker.images import STAND_IN
from tests.process.job.test_types import FENCED, ROOT
from tests.support.desks import User
from tests.support.waiting import wait_until
from tests.unit.dataset.test_seeds import GEN_TRAIN_LIST

pytestmark = pytest.mark.usefixtures("images")

SPACES = ("user001_space", "user001_space_test")
# The seeds' own program, its two placeholders filled in.
LISTS = GEN_TRAIN_LIST.replace("{top}/user001", f"{HOME}/user001").replace("{top}", "")
TRAINS = f"""\
import os, signal, socket, sys, time
import launcher.dataset as common

def told():
    return [open(path).read().split() for path in ("/trainer_id", "/trainer_count", "/train.list", "/test.list")]

if os.environ["TRAINING_ROLE"] == "TRAINER":
    exec(open("lists.py").read())
    gen_train_list("")
    seeds = told()
    common.gen_train_list("{HOME}/user001_space")
    print("lists", *seeds, told() == seeds, flush=True)
    while not os.path.exists("{HOME}/go"):
        time.sleep(0.05)
{SERVES}"""
SUBMITS = f"""\
from launcher import job

paddle_job = job.PaddleJob(
    job_name="paddle-job", datacenter="datacenter1", trainer_package_path="{HOME}/package",
    entry_point="/opt/launcher/bin/python train.py", memory="256Mi", psmemory="256Mi", cpu_nums="100m", pscpu="100m",
    pservers=1, trainers=2)
assert "kind: Job" in paddle_job.dry_run()
print(paddle_job.submit().state)
"""
FOLLOWS = """\
for line in mine.logs(follow=True):
    print(line, flush=True)
print(mine.wait())
print(mine.kill(remove=True))
"""
# Of what the job's three pods ask for, and no more.
ROOM = {"pods": "3", "requests.cpu": "300m", "requests.memory": "768Mi", "limits.memory": "768Mi"}


@pytest.fixture
def me(namespace: Kubectl, tmp_path: Path) -> User:
    """A user with the shipped Role."""
    return user_of(namespace, tmp_path)


@pytest.fixture
def packed(claimed: Volume) -> Volume:
    """A volume with the seeds' files, and a program that lists them."""
    put_package(claimed, "package", {"train.py": TRAINS, "lists.py": LISTS})
    for name in SPACES:
        (claimed.path / name).mkdir()
        for number in range(3):
            (claimed.path / name / f"part-{number}.gz").touch()
    return claimed


def limit(namespace: Kubectl, **hard: str) -> None:
    """Give a namespace a quota, and wait until it counts."""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": hard}}
    namespace.apply(quota)
    wait_until(lambda: namespace.get("resourcequota", "few")["status"].get("hard") == hard, timeout=30, every=0.2)


@contextmanager
def begun(me: User, program: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """Start a program of somebody with the user's configuration; it is ended with the body at the latest."""
    words, pipe = (sys.executable, "-c", program), subprocess.PIPE
    with subprocess.Popen(words, env=me.environ(**environ), stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def printed(me: User, program: str, **environ: str) -> list[str]:
    """Return the lines that a program printed, which did what it should without a warning."""
    with begun(me, program, **environ) as process:
        out, err = process.communicate(timeout=150)
    assert (process.returncode, err) == (0, "")
    return out.splitlines()


def elsewhere(me: User) -> str:
    """Return a configuration whose current datacenter is another one, which nobody reaches."""
    whole = json.loads((me.home / ".paddle" / "config").read_text())
    whole["datacenters"].append({"name": "other", "endpoint": "https://127.0.0.1:1", "password": "t"})
    path = me.home / "elsewhere"
    path.write_text(json.dumps({**whole, "current-datacenter": "other"}))
    path.chmod(0o600)
    return str(path)


def of_the_page(namespace: str) -> str:
    """Return what docs/job.md does with a job that somebody submitted, as it stands but for the namespace."""
    (found,) = (each for each in FENCED.findall((ROOT / "docs" / "job.md").read_text()) if "job.get(" in each)
    return f"from launcher import job\n{found}".replace('"train"', f'"{namespace}"')


def jobs_of_pods(namespace: Kubectl) -> list[str]:
    """Return of which job each pod is."""
    return [each["metadata"]["labels"].get("paddle-launcher/job", "") for each in namespace.items("pods")]


def test_a_job_of_python_is_as_the_pages_say(namespace: Kubectl, me: User, packed: Volume) -> None:
    """It goes where it says; `logs` knows that it only begins; `kill -r` is nothing; the seeds' files are written.

    Under the restricted standard, and with a quota of what its pods ask for: what makes those files takes no room.
    """
    namespace("label", "namespace", namespace.namespace, "pod-security.kubernetes.io/enforce=restricted")
    limit(namespace, **ROOM)
    assert printed(me, SUBMITS, PADDLE_CONFIG=elsewhere(me)) == ["Starting"]
    assert "any more" not in me("logs", "paddle-job").err
    wait_until(lambda: jobs_of_pods(namespace) == ["paddle-job"] * 3, timeout=20, every=0.2)
    refused = me("kill", "-r", "paddle-job")
    assert (refused.code, "-r" in refused.err) == (2, True)
    page = of_the_page(namespace.namespace)
    told = printed(me, page)
    assert re.fullmatch(r"(Starting|Running) \d of 2 trainers .*", told[0])
    assert [line.split()[:2] for line in told[1:4]] == [["trainer", "0"], ["trainer", "1"], ["pserver", "0"]]
    assert told[-2:] == ["Running", "[]"]
    lines = []
    with begun(me, page.partition("status =")[0] + FOLLOWS) as following:
        assert following.stdout
        for line in following.stdout:
            lines.append(line.rstrip())
            if sum("| lists" in each for each in lines) == 2:
                (packed.path / "go").touch()
        assert following.wait(timeout=30) == 0
    for rank, numbers in ((0, (0, 2)), (1, (1,))):
        lists = [[f"{HOME}/{name}/part-{number}.gz" for number in numbers] for name in SPACES]
        assert f"trainer-{rank} | lists ['{rank}'] ['2'] {lists[0]} {lists[1]} True" in lines
    assert lines[-2:] == ["Complete", "job paddle-job is removed; its files on a volume stay"]


def suspended(namespace: str, name: str, **labels: str) -> list[dict[str, Any]]:
    """Return a job's manifests, as a queue suspends it when it is made."""
    described = PaddleJob(
        job_name=name, namespace=namespace, runtime_image=STAND_IN, entry_point="python train.py", pservers=1,
        trainers=1,
    )  # fmt: skip
    made = [dict(each) for each in described.manifests()]
    for each in made:
        if each["kind"] == "Job":
            each["spec"] = {**each["spec"], "suspend": True}
            each["metadata"] = {**each["metadata"], "labels": {**each["metadata"]["labels"], **labels}}
    return made


def states(me: User) -> dict[str, str]:
    """Return each job's state, as the list shows it."""
    return {row[1]: row[7] for row in me("get", "jobs", "-o", "wide").rows[1:]}


def test_a_job_without_pods_says_what_holds_it(namespace: Kubectl, me: User) -> None:
    """A queue, whoever made the job, or a quota."""
    mine, queued = "mine", "queued"
    label = {"kueue.x-k8s.io/queue-name": "team"}
    limit(namespace, pods="0")
    namespace.apply(*suspended(me.namespace, mine), *suspended(me.namespace, queued, **label))
    assert states(me) == {mine: "Queued", queued: "Queued"}
    assert "the queue team starts it" in me("logs", queued).err
    assert me("kill", queued).code == 0
    assert states(me) == {mine: "Queued", queued: "Killed"}
    assert "its mark as killed is taken off" in me("resume", queued).err
    assert me("resume", mine).code == 0
    assert states(me) == {mine: "Starting", queued: "Queued"}
    wait_until(lambda: "exceeded quota: few" in me("logs", mine).err, timeout=30, every=0.5)
    with me.started("logs", "-f", mine) as following, me.started("wait", mine) as waiting:
        said = [(*each.communicate(timeout=60), each.returncode) for each in (following, waiting)]
    once = me("logs", mine)
    for out, err, code in (*said, (once.out, once.err, once.code)):
        assert (out, code) == ("", 1)
        assert "exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0" in err
        assert "`paddlectl get quota` shows what is used" in err
