"""Logs through a real API server: one after the other, merged as they come, going on where a connection was lost."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from tests.grounds.api.control_plane import ControlPlane
from tests.grounds.api.kubelet import Kubelet, Server, bind, serving
from tests.process.desk.test_paddlectl import NAME, RUNNING, SUBMIT, by_python, ended, pods, submitted
from tests.support.desks import User, user
from tests.support.serving import served
from tests.support.waiting import wait_until

MANY = 32_000  # lines of 1,000 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A job whose pods a kubelet has."""

    plane: ControlPlane
    me: User
    kubelet: Kubelet
    pods: tuple[str, ...]  # pservers first

    def become(self, pod: str, status: dict[str, object]) -> None:
        self.plane.become(self.me.namespace, pod, status)


@pytest.fixture
def stage(plane: ControlPlane, tmp_path: Path) -> Iterator[Stage]:
    me = user(plane, tmp_path, f"logs-{tmp_path.name.replace('_', '-')[:40].strip('-')}")
    with serving(plane) as kubelet:
        submitted(plane, me)
        names = tuple(pods(plane, me))
        for name in names:
            bind(plane, me.namespace, name, kubelet)
            plane.become(me.namespace, name, RUNNING)
        yield Stage(plane=plane, me=me, kubelet=kubelet, pods=names)


def test_logs_of_all_pods_one_after_the_other_or_of_some(stage: Stage) -> None:
    for name in stage.pods:
        stage.kubelet.write(name, f"first of {name}", "second", "third")
    whole = stage.me("logs", NAME)
    assert whole.code == 0, whole.err
    assert [line.partition(" | ")[0] for line in whole.out.splitlines()[::3]] == [
        "trainer-0", "trainer-1", "trainer-2", "pserver-0", "pserver-1",
    ]  # fmt: skip
    one = stage.me("logs", "-worker", "trainer-1", "-n", "2", NAME)
    assert one.out == "second\nthird\n"
    assert one.out == stage.me("logs", "-n", "2", "-worker", stage.pods[3], NAME).out
    of_role = stage.me("logs", "-role", "pserver", "-n", "1", NAME)
    assert of_role.out == "pserver-0 | third\npserver-1 | third\n"
    nobody = stage.me("logs", "-worker", "trainer-9", NAME)
    assert (nobody.code, "has no pod trainer-9" in nobody.err) == (1, True)


def test_followed_logs_are_merged_until_the_job_ends(stage: Stage) -> None:
    """A pod that has not begun is waited for; a lost connection loses no line and doubles none, also of one stamp."""
    *others, late = stage.pods
    stage.become(late, {"phase": "Pending", "containerStatuses": [
        {"name": "trainer", "ready": False, "restartCount": 0, "image": "i", "imageID": "",
         "state": {"waiting": {"reason": "ContainerCreating"}}}]})  # fmt: skip
    for name in others:
        stage.kubelet.write(name, "a", "b", "c")
    stage.kubelet.breaks[others[0]] = 2
    heard: list[str] = []
    told: list[str] = []
    with stage.me.started("logs", "-f", NAME) as following:
        assert following.stdout
        assert following.stderr
        ears = [
            threading.Thread(target=heard.extend, args=(following.stdout,)),
            threading.Thread(target=told.extend, args=(following.stderr,)),
        ]
        for ear in ears:
            ear.start()
        wait_until(lambda: len(heard) == 12 and any("ContainerCreating" in each for each in told), timeout=30)
        stage.become(late, RUNNING)
        stage.kubelet.write(late, "at last")
        wait_until(lambda: any("at last" in each for each in heard), timeout=30)
        for name in stage.pods:
            stage.kubelet.write(name, "end")
            stage.kubelet.end(name)
            stage.become(name, ended(0))
        assert following.wait(timeout=40) == 0
        for ear in ears:
            ear.join()
    lines = [line.rstrip("\n").split(" | ") for line in heard]
    by_pod = {title: [text for each, text in lines if each == title] for title, _ in lines}
    assert by_pod["trainer-2"] == ["at last", "end"]
    assert by_pod == {
        title: ["a", "b", "c", "end"] for title in ("pserver-0", "pserver-1", "trainer-0", "trainer-1")
    } | {"trainer-2": ["at last", "end"]}


def test_a_job_that_is_submitted_is_followed_to_its_failure(plane: ControlPlane, tmp_path: Path) -> None:
    me = user(plane, tmp_path, "logs-followed")
    with (
        serving(plane) as kubelet,
        me.started(*SUBMIT, "--follow") as following,
    ):
        names = wait_until(lambda: found if len(found := pods(plane, me)) == 5 else [], timeout=30, every=0.2)
        for name in names:
            bind(plane, me.namespace, name, kubelet)
            kubelet.write(name, f"hello from {name}")
            kubelet.end(name)
            plane.become(me.namespace, name, ended(65, "trainer 0 found bad data"))
        out, err = following.communicate(timeout=60)
    assert following.returncode == 1
    assert "trainer 0 found bad data" in err
    assert f"trainer-0 | hello from {NAME}-trainer-0" in out
    assert len(plane.items(me.namespace, "Job")) == 2


READING = f"""\
from launcher import job

mine = job.get("{NAME}", "NAMESPACE")
print(*mine.logs(role="pserver", tail=1), sep=chr(10))
following = mine.logs(follow=True, worker="trainer-0")
print([next(following).text for _ in range(2)], flush=True)
following.close()
"""


def test_lines_are_values_in_python_and_who_stops_reading_is_done(stage: Stage) -> None:
    for name in stage.pods:
        stage.kubelet.write(name, "first", "second")
    done = by_python(stage.plane, stage.me, READING)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["pserver-0 | second", "pserver-1 | second", "['first', 'second']"]


def test_why_a_pod_that_runs_is_not_ready_is_its_launchers_own_sentence(stage: Stage) -> None:
    waiting = "job-2.peers-job does not resolve (Name or service not known), 1 expected"
    event = json.dumps({"timestamp": "t", "event": "waiting_for_peers", "reason": waiting})
    for name in stage.pods:
        stage.kubelet.write(name, event, "loading")
        stage.become(name, {**RUNNING, "conditions": [{"type": "Ready", "status": "False"}]})
    page = stage.me("describe", NAME).out
    assert page.count(waiting) == len(stage.pods)
    stage.become(stage.pods[0], RUNNING)
    ready = {
        each["name"]: each["why"] for each in json.loads(stage.me("describe", NAME, "-o", "json").out)["workers"]
    }
    assert [name for name, why in ready.items() if not why] == [stage.pods[0]]


def test_the_kubelet_of_these_tests_loses_no_line_that_is_written_while_it_shows_older_ones() -> None:
    kubelet, context = Kubelet(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority = trustme.CA()
    authority.issue_cert("127.0.0.1").configure_cert(context)
    kubelet.write("pod", *["x" * 1000] * MANY)
    with served(Server(kubelet, context)) as host:
        trusting = ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())
        asking = http.client.HTTPSConnection(host, context=trusting)
        asking.request("GET", "/containerLogs/n/pod/c?follow=true")
        answer = asking.getresponse()
        answer.readline()  # the others are on their way, and no socket holds them all
        kubelet.write("pod", "at last")
        kubelet.end("pod")
        rest = answer.read().splitlines()
        asking.close()
    assert (len(rest), rest[-1]) == (MANY, b"at last")
