"""Images that have never heard of the launcher: when it is brought, and what is told where that cannot be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from launcher.desk.files import pod as files
from tests.grounds.api.control_plane import ControlPlane
from tests.grounds.api.nodes import PULLING, Node, node_of
from tests.process.desk.test_paddlectl import NAME, SUBMIT, all_become, everything, pods, submitted
from tests.support.desks import User
from tests.support.waiting import wait_until

Json = dict[str, Any]
INIT = "repo/paddle-launcher-init:1"
ANY = ("-image", "pytorch/pytorch")


@pytest.fixture
def mine(me: User) -> tuple[str, str]:
    """The flag for a configuration in which the image that brings the launcher is named."""
    return me.saying(**{"launcher-image": INIT})


def init_images(plane: ControlPlane, me: User) -> set[str]:
    jobs = plane.items(me.namespace, "Job")
    return {
        each["image"]
        for job in jobs
        for each in job["spec"]["template"]["spec"].get("initContainers", ())
        if each["name"] == "launcher"
    }


@pytest.mark.parametrize(
    ("words", "named", "brought"),
    [
        (ANY, True, True),
        (ANY, False, False),
        ((), True, False),
        (("-inject", "always"), True, True),
        ((*ANY, "-inject", "never"), True, False),
    ],
)
def test_the_launcher_is_brought_where_the_image_is_not_known_to_have_it(
    plane: ControlPlane, me: User, mine: tuple[str, str], words: tuple[str, ...], named: bool, brought: bool
) -> None:
    submitted(plane, me, *words, *(mine if named else ()))
    assert init_images(plane, me) == ({INIT} if brought else set())
    assert (f"launcher:    {INIT}\n" in me("describe", NAME).out) == brought


def container(name: str, **state: object) -> Json:
    return {"name": name, "ready": False, "restartCount": 0, "image": "i", "imageID": "i", "state": state}


NOEXEC = "launcher.inject: /launcher is mounted noexec: expected a volume on which programs may be started"
ENDED = {"exitCode": 71, "reason": "Error", "message": NOEXEC}
PULL = {"reason": "ErrImagePull", "message": "no such image"}
CPU = {"exitCode": 128, "reason": "StartError", "message": 'exec: "/launcher/bin/start_paddle": exec format error'}


@pytest.mark.parametrize(
    ("become", "mark", "told", "remedy"),
    [
        ({"phase": "Succeeded"}, "ok  ", f"pytorch/pytorch can be pulled, and starts: {INIT} brings", ""),
        (
            {"phase": "Pending", "initContainerStatuses": [container("launcher", waiting=PULL)]},
            "FAIL",
            "the launcher's image cannot be pulled (ErrImagePull): no such image",
            f"is {INIT} its name? For a private registry create a pull secret",
        ),
        (
            {"phase": "Failed", "initContainerStatuses": [container("launcher", terminated=ENDED)]},
            "FAIL",
            NOEXEC,
            "k8s/any-image/README.md says what an image needs",
        ),
        (
            {"phase": "Failed", "containerStatuses": [container("trainer", terminated=CPU)]},
            "FAIL",
            "pytorch/pytorch is for another CPU than the node's",
            "then run this command again",
        ),
    ],
)
def test_doctor_says_before_a_submit_what_an_image_lacks(
    plane: ControlPlane,
    me: User,
    mine: tuple[str, str],
    tmp_path: Path,
    become: Json,
    mark: str,
    told: str,
    remedy: str,
) -> None:
    """One pod, as a job's under the restricted standard: it only says its launcher's version."""
    plane.enforce(me.namespace, "restricted")
    with node_of(plane, me.namespace, tmp_path) as node:
        node.become = become
        said = me("doctor", *ANY, *mine)
        wait_until(lambda: not plane.items(me.namespace, "Pod"), timeout=20, every=0.1)
    (line,) = [each for each in said.out.splitlines() if "  image   " in each and "pytorch/pytorch" in each]
    assert line.startswith(mark), said.out + said.err
    assert told in line
    assert f"-> {remedy}" in said.out or not remedy
    (spec,) = node.specs
    assert [each["image"] for each in (*spec["initContainers"], *spec["containers"])] == [INIT, ANY[1]]
    assert spec["containers"][0]["command"] == ["/launcher/bin/start_paddle", "--version"]


def test_doctor_refuses_what_submit_refuses_of_an_image(plane: ControlPlane, me: User) -> None:
    for words, sentence in (
        (("-image", "No Image"), "-image 'No Image': expected an image's name"),
        (
            (*ANY, "-inject", "always"),
            "-inject always needs the image that brings the launcher: set",
        ),
    ):
        said = me("doctor", *words)
        assert (said.code, said.out, sentence in said.err) == (2, "", True), said.err
    assert not plane.items(me.namespace, "Pod")


def test_the_environment_names_the_image_above_the_configuration(
    plane: ControlPlane, me: User, mine: tuple[str, str]
) -> None:
    said = me(*SUBMIT, *ANY, *mine, LAUNCHER_INIT_IMAGE="repo/other:2")
    assert said.code == 0, said.err
    assert init_images(plane, me) == {"repo/other:2"}


def test_always_without_an_image_to_bring_it_says_where_that_is_named(plane: ControlPlane, me: User) -> None:
    said = me(*SUBMIT, *ANY, "-inject", "always")
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        "paddlectl: -inject always needs the image that brings the launcher: set `launcher-image:` in the "
        "datacenter's configuration, or LAUNCHER_INIT_IMAGE\n"
    )
    assert everything(plane, me) == set()


BY_PYTHON = """
from launcher import job
job.Job(job_name="by-python", image="any/image", entry_point="python t.py", runtime="torch", inject="always").submit()
"""


def test_a_job_from_python_asks_for_it_in_the_same_words(plane: ControlPlane, me: User) -> None:
    """Without a datacenter of its own: the image is the current one's, or the environment's."""
    python = (sys.executable, "-c", BY_PYTHON)
    env = me.environ(LAUNCHER_INIT_IMAGE=INIT)
    done = subprocess.run(python, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert init_images(plane, me) == {INIT}


def waiting(name: str, state: Json) -> Json:
    return {"name": name, "ready": False, "restartCount": 0, "image": "i", "imageID": "", "state": state}


def test_an_image_that_brings_the_launcher_and_cannot_be_pulled_ends_the_wait(
    plane: ControlPlane, me: User, mine: tuple[str, str]
) -> None:
    submitted(plane, me, *ANY, *mine)
    first = waiting("launcher", {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}})
    own = waiting("trainer", {"waiting": {"reason": "PodInitializing"}})
    all_become(plane, me, {"phase": "Pending", "initContainerStatuses": [first], "containerStatuses": [own]})
    said = me("wait", NAME)
    assert said.code == 1
    assert "the launcher's image cannot be pulled (ImagePullBackOff): Back-off pulling image" in said.err
    assert (
        f"is {INIT} its name (it is set by `launcher-image:` in the datacenter's configuration, or LAUNC" in said.err
    )
    assert "the launcher's image cannot be pulled" in me("describe", NAME).out
    assert "the launcher's image cannot be pulled" in me("logs", "-f", NAME).err


ABSENT = 'runc create failed: exec: "start_paddle": executable file not found in $PATH: unknown'


def test_an_image_without_the_launcher_is_told_with_the_flag_that_brings_it(plane: ControlPlane, me: User) -> None:
    submitted(plane, me, *ANY)
    failed = waiting("trainer", {"terminated": {"exitCode": 128, "reason": "StartError", "message": ABSENT}})
    for name in pods(plane, me)[:1]:  # before the Job itself has failed
        plane.become(me.namespace, name, {"phase": "Pending", "containerStatuses": [failed]})
    told = "pytorch/pytorch has no launcher: -inject always brings it into the pods"
    for words in (("wait", NAME), ("logs", NAME), ("logs", "-f", NAME)):
        said = me(*words)
        assert (said.code, told in said.err) == (1, True), (words, said.err)
    assert told in me("describe", NAME).out
    assert "then submit again with --replace" in me("wait", NAME).err
    all_become(plane, me, {"phase": "Failed", "containerStatuses": [failed]})
    for words in (("wait", NAME), ("logs", NAME), ("logs", "-f", NAME)):
        said = me(*words)
        assert (said.code, told in said.err) == (1, True), (words, said.err)


FULL = "launcher.inject: /launcher/lib/python: No space left on device; expected room for all of it\n"


def test_what_is_in_the_way_of_the_launcher_is_what_its_pod_tells(
    plane: ControlPlane, me: User, mine: tuple[str, str]
) -> None:
    submitted(plane, me, *ANY, *mine)
    failed = waiting("launcher", {"terminated": {"exitCode": 74, "reason": "Error", "message": FULL}})
    own = waiting("trainer", {"waiting": {"reason": "PodInitializing"}})
    all_become(plane, me, {"phase": "Failed", "initContainerStatuses": [failed], "containerStatuses": [own]})
    said = me("wait", NAME, "--timeout", "30s")
    assert (said.code, f"ended with 74: {FULL.strip()}" in said.err) == (1, True), said.err
    assert f"\n  {FULL}" in me("describe", NAME).out


def test_the_desks_own_pods_are_of_the_image_that_brings_the_launcher_where_no_other_has_it(
    plane: ControlPlane, me: User, tmp_path: Path
) -> None:
    """For `ls` without `image:`, for the saved logs of such a job, and for the doctor."""
    volume = tmp_path / "volume"
    output = volume / "jobs" / NAME / "output" / "node_0"
    output.mkdir(parents=True)
    (output / "train.log").write_text("saved\n")
    whole = json.loads((me.home / ".paddle" / "config").read_text())
    whole["datacenters"][0].update({"image": None, "launcher-image": INIT})
    (me.home / ".paddle" / "config").write_text(json.dumps(whole))
    submitted(plane, me, *ANY)
    assert me("kill", NAME).code == 0
    with node_of(plane, me.namespace, volume) as node:
        assert me("ls", "/pfs/datacenter1/home/me").out
        assert agent_images(node) == {INIT}
        assert "saved" in me("logs", NAME).out
        assert agent_images(node) == {INIT}
        node.become = PULLING
        assert f"-> check the name {INIT};" in me("doctor").out
    assert agent_images(node) == {INIT}


def agent_images(node: Node) -> set[str]:
    found = [each["containers"][0] for each in node.specs if each["containers"][0]["name"] == files.CONTAINER]
    assert all(each["command"][: len(files.AGENT)] == [*files.AGENT] for each in found)
    return {each["image"] for each in found}
