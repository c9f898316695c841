"""What is refused at the desk, and told with a remedy; who may do what; secrets that stay so."""

from __future__ import annotations

import base64
import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from tests.grounds.api.control_plane import ControlPlane
from tests.grounds.api.hiccups import between
from tests.process.desk.test_paddlectl import NAME, SUBMIT, everything, pods, submitted
from tests.support.desks import User, user
from tests.support.waiting import wait_until

OLD = {"password": "0ld-token"}


def test_a_submit_that_fails_half_way_leaves_nothing(plane: ControlPlane, me: User) -> None:
    """Each Job alone would be within the quota: only the second one shows that both are not."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {"count/jobs.batch": "1"}},
    }
    plane.make(me.namespace, quota)
    wait_until(lambda: len(me("get", "quota").rows) == 2, timeout=20, every=0.3)
    assert me("get", "quota").rows == [["RESOURCE", "USED", "LIMIT"], ["count/jobs.batch", "0", "1"]]
    said = me(*SUBMIT)
    assert said.code == 1
    assert "exceeded quota: few" in said.err
    wait_until(lambda: not everything(plane, me), timeout=30, every=0.2)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("-jobname", "my_job"), 2, "-jobname my_job: expected only letters, digits and -, no _; such as 'my-job'"),
        (("-memory", "1X"), 2, "-memory 1X: expected"),
        (("-cpu", "many"), 2, "paddlectl: -cpu many: expected"),
        (("-registry", "nowhere"), 1, "there is no Secret nowhere in the namespace"),
        (("-jobname", "a" * 60), 2, "is too long"),
        (("-image", "Bad Image"), 2, "-image 'Bad Image': expected"),
        (("-datacenter", "nowhere"), 1, "datacenter 'nowhere' is not in"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_sent(
    plane: ControlPlane, me: User, words: tuple[str, ...], code: int, told: str
) -> None:
    is_refused(plane, me, words, code, told)


def is_refused(plane: ControlPlane, me: User, words: tuple[str, ...], code: int, told: str) -> None:
    """Hold that a submit with these words is refused in one sentence, and that nothing is made."""
    said = me(*SUBMIT, *words)
    assert (said.code, said.out) == (code, "")
    assert told in said.err
    assert len(said.err.splitlines()) == 1
    assert everything(plane, me) == set()


def test_a_missing_claim_and_a_forbidden_volume_are_told_before(
    plane: ControlPlane, me: User, tmp_path: Path
) -> None:
    lacking = user(plane, tmp_path / "other", f"{me.namespace}-l", volume={"claim": "nowhere"})
    assert "there is no PersistentVolumeClaim nowhere in the namespace" in lacking(*SUBMIT).err
    direct = user(plane, tmp_path / "third", f"{me.namespace}-d", volume={"hostPath": "/data"})
    plane.enforce(direct.namespace, "restricted")
    said = direct(*SUBMIT)
    assert said.code == 1
    assert "does not allow such pods" in said.err
    assert everything(plane, direct) == set()


def test_a_registry_is_made_used_listed_and_deleted(plane: ControlPlane, me: User) -> None:
    words = ("registry", "-username", "u", "-server", "registry.example.com:5000", "-name", "mine")
    first = me(*words, "-password", "5ecret")
    assert first.code == 0
    assert "can be seen by others" in first.err
    (secret,) = plane.items(me.namespace, "Secret")
    assert secret["type"] == "kubernetes.io/dockerconfigjson"
    renewed = me(*words, "-v", stdin="an0ther\n")
    assert (renewed.code, "renewed" in renewed.err) == (0, True)
    (secret,) = plane.items(me.namespace, "Secret")
    (auth,) = json.loads(base64.b64decode(secret["data"][".dockerconfigjson"]))["auths"].values()
    assert (auth["username"], auth["password"]) == ("u", "an0ther")
    assert base64.b64decode(auth["auth"]) == b"u:an0ther"
    listed = me("get", "registry")
    assert listed.rows[1:] == [["0", "mine", "registry.example.com:5000", "u"]]
    submitted(plane, me, "-registry", "mine")
    (spec, _) = (each["spec"]["template"]["spec"] for each in plane.items(me.namespace, "Job"))
    assert spec["imagePullSecrets"] == [{"name": "mine"}]
    which = me("delete", "registry")
    assert (which.code, "there is mine" in which.err) == (2, True)
    assert me("delete", "registry", "mine").code == 0
    assert plane.items(me.namespace, "Secret") == []
    said = "".join(each.out + each.err for each in (first, renewed, listed, which))
    assert not re.search("5ecret|an0ther", said)


def test_a_secret_that_is_no_registry_of_ours_is_left_alone(plane: ControlPlane, me: User) -> None:
    plane.make(me.namespace, {"kind": "Secret", "metadata": {"name": "mine"}})
    said = me("registry", "-name", "mine", "-username", "u", "-server", "s", stdin="x\n")
    assert (said.code, "is not a registry of paddlectl" in said.err) == (1, True)
    assert me("delete", "registry", "mine").code == 1
    assert len(plane.items(me.namespace, "Secret")) == 1


def test_two_users_with_the_shipped_role_see_and_touch_only_their_own(
    plane: ControlPlane, me: User, tmp_path: Path
) -> None:
    other = user(plane, tmp_path / "other", f"{me.namespace}-2")
    submitted(plane, me)
    assert me("doctor", "-q", *me.without("image")).out.splitlines()[0].startswith("ok    rights")
    assert len(other("get", "jobs").rows) == 1
    for words in (("get", "jobs"), ("kill", "-rm", NAME), ("logs", NAME), SUBMIT, ("get", "registry")):
        said = other(*words, "-namespace", me.namespace)
        assert said.code == 1
        assert "not allowed" in said.err
        assert "k8s/rbac/desk" in said.err
    assert len(pods(plane, me)) == 5


def test_an_expired_token_and_a_server_that_is_away_are_told(plane: ControlPlane, me: User) -> None:
    place = {"username": "me", "certificate-authority": str(plane.ca)}
    me.configure(**place, endpoint=plane.server, **OLD)
    said = me("get", "jobs", "-v")
    assert said.code == 1
    assert "refuses the token of datacenter 'datacenter1': it has expired" in said.err
    assert "0ld-token" not in said.err + said.out
    me.configure(**place, endpoint="https://127.0.0.1:1", **OLD)
    said = me("get", "jobs")
    assert (said.code, said.out, "https://127.0.0.1:1 cannot be reached: " in said.err) == (1, "", True)
    me.configure(**place, endpoint="http://cloud.example.com", **OLD)
    said = me("get", "jobs")
    assert (said.code, "would send the token unencrypted" in said.err) == (1, True)
    assert "0ld-token" not in said.err
    me.configure(username="me", endpoint=plane.server, **OLD)
    unknown = me("get", "jobs").err
    assert "its certificate is not signed by an authority that this machine knows (" in unknown
    assert "; set `certificate-authority:` in the configuration to the file of the cluster's authority\n" in unknown
    me.configure(**place, endpoint=plane.server.replace("127.0.0.1", "localhost"), **OLD)
    assert "its certificate is for another name: " in me("get", "jobs").err
    me.configure(**place, endpoint=plane.server.replace("https", "http"), **OLD)
    assert "Client sent an HTTP request to an HTTPS server.; use https://\n" in me("get", "jobs").err
    with between(plane) as plain:
        me.configure(**place, endpoint=plain.endpoint.replace("http", "https"), **OLD)
        assert "there is no TLS ([SSL" in me("get", "jobs").err


def test_without_a_configuration_the_kubeconfigs_context_serves(
    plane: ControlPlane, me: User, tmp_path: Path
) -> None:
    nobody = User(home=tmp_path / "empty")
    said = nobody("get", "jobs", "-namespace", me.namespace, KUBECONFIG=str(plane.kubeconfig))
    assert (said.code, len(said.rows)) == (0, 1)
    assert "no cluster is configured" in nobody("get", "jobs").err


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"current-context": None}, " has no current-context: use -context NAME; it has "),
        ({"current-context": ""}, " has no current-context: use -context NAME; it has "),
        ({"current-context": "gone"}, " has no context 'gone'; it has "),
        ({"clusters": []}, " cannot be used: it has no cluster "),
    ],
    ids=["none", "empty", "gone", "no-cluster"],
)
def test_a_kubeconfig_without_a_context_is_told(
    plane: ControlPlane, tmp_path: Path, changed: dict[str, object], told: str
) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps({**yaml.safe_load(plane.kubeconfig.read_text()), **changed}))
    said = User(home=tmp_path)("get", "jobs", KUBECONFIG=str(path))
    assert (said.code, said.out) == (1, "")
    assert f"paddlectl: the kubeconfig {path}{told}" in said.err


def test_ctrl_c_ends_a_wait_with_130(plane: ControlPlane, me: User) -> None:
    submitted(plane, me)
    with me.started("wait", NAME) as waiting:
        assert waiting.stderr
        assert "is starting" in waiting.stderr.readline()
        waiting.send_signal(signal.SIGINT)
        try:
            assert waiting.wait(timeout=20) == 130
        except subprocess.TimeoutExpired:
            waiting.send_signal(signal.SIGABRT)  # where it is instead
            pytest.fail(waiting.stderr.read())
