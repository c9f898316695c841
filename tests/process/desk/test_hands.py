"""Hands that know kubectl: namespaces, contexts, selectors, several names; and as a plugin of the real kubectl."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.grounds.api.control_plane import ControlPlane
from tests.process.desk.test_completion import make_jobs
from tests.support.desks import User
from tests.support.shells import environ, programs
from tests.support.waiting import wait_until

NO_JOB = "paddlectl: there is no job {} in the namespace {}: `paddlectl get jobs` lists the jobs\n"


def names(rows: Sequence[Sequence[str]]) -> list[str]:
    return [row[1] for row in rows[1:]]


@pytest.fixture
def admin(plane: ControlPlane) -> tuple[str, ...]:
    """The flags for somebody who may do anything, in the place of the user's datacenter."""
    return ("--kubeconfig", str(plane.kubeconfig), "--context", "ground")


@pytest.fixture
def elsewhere(plane: ControlPlane, me: User) -> str:
    """Another namespace."""
    return plane.new_namespace(f"{me.namespace}-2")


def test_the_namespace_is_n_in_every_command_before_and_after_it(
    plane: ControlPlane, me: User, elsewhere: str, admin: tuple[str, ...]
) -> None:
    """Also where the datacenter or the context has another one."""
    make_jobs(plane, elsewhere, "a-job")
    assert names(me("get", "jobs").rows) == []
    assert 'namespace "' + elsewhere in me("-n", elsewhere, "get", "jobs").err  # that is not the user's
    for words in (("-n", elsewhere, *admin, "get", "jobs"), ("get", "jobs", *admin, "-n", elsewhere)):
        assert names(me(*words).rows) == ["a-job"], words
    for words in (("describe", "a-job"), ("get", "workers", "a-job"), ("suspend", "a-job")):
        said = me(*words, "-n", elsewhere, *admin)
        assert said.code == 0, said.err
    for words in (("logs", "-n", "20"), ("logs",)):
        said = me(*words, "-n", elsewhere, *admin, "a-job")
        assert (said.code, "job a-job is queued and has no pods yet" in said.err) == (1, True), said.err
    assert me("-n", elsewhere, *admin, "delete", "job", "a-job").code == 0
    assert me(*admin, "get", "job", "a-job", "-n", elsewhere).err == NO_JOB.format("a-job", elsewhere)


def test_a_context_or_a_kubeconfig_that_is_not_there_is_told(plane: ControlPlane, me: User, tmp_path: Path) -> None:
    there = str(plane.kubeconfig)
    said = me("get", "jobs", "--context", "nowhere", KUBECONFIG=there)
    assert (said.code, said.out) == (1, "")
    assert said.err == f"paddlectl: the kubeconfig {there} has no context 'nowhere'; it has ground\n"
    said = me("--kubeconfig", "/nowhere", "get", "jobs")
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        "paddlectl: no cluster is configured: -kubeconfig or KUBECONFIG is /nowhere, which does not exist: "
        "name another file, or add a datacenter to ~/.paddle/config\n"
    )
    assert me("get", "jobs", KUBECONFIG="/nowhere").code == 0  # the datacenter has an endpoint
    said = me("-datacenter", "datacenter1", "-context", "ground", "get", "jobs", KUBECONFIG=there)
    assert said.code == 2
    assert "datacenter 'datacenter1' is https://" in said.err
    me.configure(context="ground", username="me", namespace=me.namespace)
    said = me("-datacenter", "datacenter1", "-context", "ground", "-kubeconfig", there, "get", "jobs")
    assert (said.code, len(said.rows)) == (0, 1), said.err
    said = me("-context", "ground", "get", "jobs", "-v", KUBECONFIG=there)  # of the datacenter that has it
    assert f"/namespaces/{me.namespace}/jobs" in said.err
    nothing = tmp_path / "kubeconfig"
    for text, told in (
        ("", " cannot be used: it is incomplete; `kubectl config view` shows it"),
        ("contexts: [{name: a}, {name: b}]", " has no current-context: use -context NAME; it has a, b"),
        ("{contexts: [], current-context: a}", " has no context 'a'; it has none"),
    ):
        nothing.write_text(text)
        said = me("-kubeconfig", str(nothing), "get", "jobs")
        assert (said.code, said.err) == (1, f"paddlectl: the kubeconfig {nothing}{told}\n")


def test_jobs_of_all_namespaces_are_not_mixed(
    plane: ControlPlane, me: User, elsewhere: str, admin: tuple[str, ...]
) -> None:
    make_jobs(plane, me.namespace, "alike", "mine")
    make_jobs(plane, elsewhere, "alike")
    said = me("get", "jobs", "-A", *admin)
    assert said.rows[0][:3] == ["NAMESPACE", "NUM", "NAME"]
    ours = sorted((row[0], row[2]) for row in said.rows if row[0] in (me.namespace, elsewhere))
    assert ours == sorted([(me.namespace, "alike"), (me.namespace, "mine"), (elsewhere, "alike")])
    found = json.loads(me("get", "jobs", "--all-namespaces", "-o", "json", *admin).out)["items"]
    ours = sorted(
        (each["namespace"], each["name"]) for each in found if each["namespace"] in (me.namespace, elsewhere)
    )
    assert ours == sorted([(me.namespace, "alike"), (me.namespace, "mine"), (elsewhere, "alike")])
    refused = me("get", "jobs", "-A")
    assert (refused.code, refused.out) == (1, "")
    assert "at the cluster scope" in refused.err
    assert refused.err.endswith("; without -A it is one namespace\n")


def test_a_selector_picks_jobs_whole(plane: ControlPlane, me: User) -> None:
    """A label on one of its two Jobs is enough, and the state is that of both."""
    make_jobs(plane, me.namespace, "one", "two")
    jobs = f"/apis/batch/v1/namespaces/{me.namespace}/jobs"
    plane.change(f"{jobs}/one-pserver", {"metadata": {"labels": {"team": "vision"}}})
    assert names(me("get", "jobs", "-l", "team=vision").rows) == ["one"]
    assert names(me("get", "jobs", "-l", "team!=vision").rows) == ["one", "two"]
    assert names(me("get", "jobs", "-l", "team=speech", "-o", "wide").rows) == []
    found = json.loads(me("get", "jobs", "-l", "team", "-ojson").out)["items"]
    assert [(each["name"], each["state"]) for each in found] == [("one", "Queued")]
    wrong = me("get", "jobs", "-l", "team = = vision")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err.startswith("paddlectl: -l team = = vision: ")
    assert me("get", "workers", "one", "-l", "paddle-job").rows == [["NAME", "STATUS", "START"]]
    with me.started("get", "jobs", "-w", "-l", "team=vision") as watch:
        assert watch.stdout
        assert watch.stdout.readline().startswith("NUM\tNAME")
        assert watch.stdout.readline().startswith("0\tone\t")


def test_of_several_names_each_is_answered(plane: ControlPlane, me: User) -> None:
    make_jobs(plane, me.namespace, "one", "two", "three")
    missing = NO_JOB.format("none", me.namespace)
    said = me("get", "job", "two", "none", "job/one")
    assert (said.code, said.err, names(said.rows)) == (1, missing, ["two", "one"])
    assert (me("get", "jobs", "none").out, me("get", "jobs", "none").err) == ("", missing)
    said = me("describe", "job", "one", "none", "two")
    assert (said.code, said.err) == (1, missing)
    assert said.out.count("state:       Queued") == 2
    assert [each["job"]["name"] for each in json.loads(me("describe", "one", "two", "-ojson").out)["items"]] == [
        "one",
        "two",
    ]
    assert json.loads(me("describe", "one", "-ojson").out)["job"]["name"] == "one"
    said = me("kill", "one", "none", "bad_name", "two")
    assert said.code == 2  # the worst
    assert [line.split()[1] for line in said.err.splitlines()] == ["one", "there", "'bad_name'", "two"]
    assert {row[1]: row[7] for row in me("get", "jobs", "-o", "wide").rows[1:]} == {
        "one": "Killed", "two": "Killed", "three": "Queued",
    }  # fmt: skip
    said = me("resume", "one", "two", "none")
    assert (said.code, said.err.count("its mark as killed is taken off")) == (1, 2)
    assert me("suspend", "one", "three").code == 0
    assert me("delete", "jobs", "one", "job/two").code == 0
    assert names(me("get", "jobs").rows) == ["three"]


def test_what_is_half_typed_deletes_nothing(plane: ControlPlane, me: User) -> None:
    make_jobs(plane, me.namespace, "one")
    for words in (("kill", "-r"), ("kill", "-rf"), ("delete", "-r", "job"), ("-r", "kill")):
        said = me(*words, "one")
        assert (said.code, "unrecognized arguments: -r" in said.err) == (2, True), words
    assert me("get", "jobs", "-o", "wide").rows[1][7] == "Queued"


def test_it_is_a_plugin_of_kubectls(plane: ControlPlane, me: User, tmp_path: Path) -> None:
    """With a link of that name on PATH; kubectl's own completion asks the program beside it."""
    make_jobs(plane, me.namespace, "my-paddlecloud-job")
    place = programs(tmp_path / "bin", plane.kubectl_program)

    def kubectl(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ("kubectl", *words), env=environ(me, place), capture_output=True, text=True, timeout=60, check=False
        )

    done = kubectl("paddle", "get", "jobs")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].startswith("0\tmy-paddlecloud-job\t")
    assert kubectl("paddle", "help", "kill").stdout.startswith("usage: kubectl paddle kill ")
    wrong = kubectl("paddle", "kill")
    assert wrong.returncode == 2
    assert "kubectl paddle kill: expected job; `kubectl paddle help kill` shows how\n" in wrong.stderr
    assert kubectl("__complete", "paddle", "su").stdout.split() == ["submit", "suspend", ":4"]
    assert kubectl("__complete", "paddle", "cp", "").stdout.split() == [":0"]
    # On a machine that is slow at this moment no name comes in time.
    wait_until(
        lambda: kubectl("__complete", "paddle", "kill", "my").stdout.split()[0] == "my-paddlecloud-job", timeout=60
    )
