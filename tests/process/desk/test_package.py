"""A package of this machine goes with its job: a real API server takes it, and nothing is ever half made."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.grounds.api.control_plane import ControlPlane, place_of
from tests.process.desk.test_paddlectl import everything
from tests.support.desks import Said, User, user
from tests.support.waiting import wait_until

Json = dict[str, Any]
SUBMIT = ("submit", "-jobname", "alone", "-entry", "python train.py", "-runtime", "env", "-parallelism", "2")
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"


@pytest.fixture
def me(plane: ControlPlane, tmp_path: Path, request: pytest.FixtureRequest) -> User:
    """A user without a volume."""
    name = f"package-{abs(hash(request.node.name)) % 10**8}"
    made = user(plane, tmp_path / "home", name, volume=None)
    plane.enforce(name, "restricted")
    return made


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of all that there is, and of what stays."""
    made = tmp_path / "my-package"
    (made / "lib" / "deep").mkdir(parents=True)
    (made / "train.py").write_text("print('trains')\n")
    (made / "lib" / "deep" / "run.sh").write_text("#!/bin/sh\n")
    (made / "lib" / "deep" / "run.sh").chmod(0o755)
    (made / "lib" / "empty").touch()
    (made / "lib" / "model.bin").write_bytes(b"\xff\x00")
    (made / "inner").symlink_to("lib/deep")
    (made / "also.py").symlink_to(made / "train.py")
    (made / ".git").mkdir()
    (made / ".git" / "objects").write_bytes(b"x" * (2 << 20))
    (made / ".paddleignore").write_text("*.ckpt\n/old/\n")
    (made / "lib" / "old.ckpt").write_bytes(b"x" * (2 << 20))
    (made / "old").mkdir()
    (made / "old" / "out").symlink_to("/etc/passwd")
    return made


def config_maps(plane: ControlPlane, me: User) -> list[Json]:
    return [each for each in plane.items(me.namespace, "ConfigMap") if each["metadata"]["name"] != "kube-root-ca.crt"]


def nothing_left(plane: ControlPlane, me: User) -> bool:
    return not everything(plane, me) and not config_maps(plane, me)


def contents(plane: ControlPlane, me: User) -> dict[str, tuple[bytes, int]]:
    """Return what a kubelet would lay out, with the files' modes."""
    (found,) = config_maps(plane, me)
    (job,) = plane.items(me.namespace, "Job")
    (volume,) = [each["configMap"] for each in job["spec"]["template"]["spec"]["volumes"] if "configMap" in each]
    coded = {key: base64.b64decode(text) for key, text in found.get("binaryData", {}).items()}
    content = {**{key: text.encode() for key, text in found.get("data", {}).items()}, **coded}
    mode = volume["defaultMode"]
    return {each["path"]: (content[each["key"]], each.get("mode", mode)) for each in volume["items"]}


def test_a_package_goes_with_its_job_and_with_it_again(plane: ControlPlane, me: User, package: Path) -> None:
    said = me(*SUBMIT, str(package))
    assert said.code == 0, said.err
    assert f"the package is {package} on this machine: it goes with the job\n" in said.err
    (line,) = [each for each in said.err.splitlines() if "without a volume" in each]
    assert all(word in line for word in ("passes", "record", "logs", "`volume: {claim: NAME}`"))
    assert contents(plane, me) == {
        "also.py": (b"print('trains')\n", 0o644),
        "inner/run.sh": (b"#!/bin/sh\n", 0o755),
        "lib/deep/run.sh": (b"#!/bin/sh\n", 0o755),
        "lib/empty": (b"", 0o644),
        "lib/model.bin": (b"\xff\x00", 0o644),
        "train.py": (b"print('trains')\n", 0o644),
    }
    (job,), (found,) = plane.items(me.namespace, "Job"), config_maps(plane, me)
    assert [each["uid"] for each in found["metadata"]["ownerReferences"]] == [job["metadata"]["uid"]]
    assert found["immutable"] is True
    assert f"package:     {package}" in me("describe", "alone").out
    (package / "train.py").write_text("print('again')\n")
    said = me(*SUBMIT, "--replace", str(package))
    assert said.code == 0, said.err
    assert contents(plane, me)["train.py"] == (b"print('again')\n", 0o644)
    assert me("kill", "-rm", "alone").code == 0
    wait_until(lambda: nothing_left(plane, me), timeout=30, every=0.2)


def test_it_goes_with_its_owner_by_the_clusters_own_hand(plane: ControlPlane, me: User, package: Path) -> None:
    """As after the week that a finished Job stays."""
    assert me(*SUBMIT, str(package)).code == 0
    query = "?propagationPolicy=Background"
    plane.ask("DELETE", f"{place_of('Job', me.namespace)}/alone{query}")
    wait_until(lambda: nothing_left(plane, me), timeout=30, every=0.2)


BY_PYTHON = """
import sys
from launcher import job
mine = job.Job(job_name="alone", entry_point="python train.py", runtime="env", trainers=2, runtime_image="i",
               local_package="my-package")
assert "kind: ConfigMap" in str(mine)
assert "kind: ConfigMap" in mine.dry_run()
mine.submit()
"""


def test_python_takes_the_same_way(plane: ControlPlane, me: User, package: Path) -> None:
    words = (sys.executable, "-c", BY_PYTHON)
    done = subprocess.run(words, env=me.environ(), cwd=package.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert contents(plane, me)["train.py"] == (b"print('trains')\n", 0o644)


def refused(said: Said, told: str) -> None:
    assert (said.code, said.out) == (1, ""), said
    assert told in said.err
    assert len(said.err.splitlines()) == 1, said.err


def test_one_that_is_too_large_is_told_with_its_size_and_the_limit(
    plane: ControlPlane, me: User, package: Path
) -> None:
    """At the limit itself the API server takes it: texts as they are, others as base64."""
    small = package.parent / "small"
    small.mkdir()
    most = (900 << 10) - len("data.txt") - 32
    (small / "data.txt").write_bytes(b"x" * most)
    assert me(*SUBMIT, str(small)).code == 0
    (small / "data.txt").write_bytes(b"x" * (most + 1))
    limit = "takes 901 KiB in 1 file: at most 900 KiB can go with a job; leave out what the program does not need"
    refused(me(*SUBMIT, "--replace", str(small)), limit)
    (small / "data.txt").write_bytes(b"\xff" * (700 << 10))
    refused(me(*SUBMIT, "--replace", str(small)), "takes 934 KiB in 1 file:")
    assert me("kill", "-rm", "alone").code == 0
    wait_until(lambda: nothing_left(plane, me), timeout=30, every=0.2)
    (package / ".paddleignore").unlink()
    refused(me(*SUBMIT, str(package)), "old/out is a link out of the package, to /etc/passwd")
    (package / "old" / "out").unlink()
    refused(me(*SUBMIT, str(package)), "takes 2049 KiB in 7 files")
    assert nothing_left(plane, me)


def test_what_cannot_go_is_told_and_nothing_is_made(plane: ControlPlane, me: User, package: Path) -> None:
    bad = package / "lib" / "bad"
    bad.symlink_to("../../elsewhere")
    refused(me(*SUBMIT, str(package)), "lib/bad is a link out of the package")
    bad.unlink()
    bad.symlink_to("nowhere")
    refused(me(*SUBMIT, str(package)), "lib/bad is a link to nothing: remove it, or leave it out in .paddleignore")
    bad.unlink()
    bad.symlink_to("bad")
    refused(me(*SUBMIT, str(package)), "lib/bad is a link to nothing")
    bad.unlink()
    bad.symlink_to("..")
    refused(me(*SUBMIT, str(package)), "lib/bad is a link to a directory that it is in")
    bad.unlink()
    subprocess.run(("mkfifo", bad), check=True)
    refused(me(*SUBMIT, str(package)), "lib/bad is neither a file nor a directory")
    bad.unlink()
    foreign = Path(str(package / "lib" / "caf") + "\udce9")
    foreign.touch()
    refused(me(*SUBMIT, str(package)), r"'lib/caf\udce9' has a name that is not UTF-8: rename it, or leave it out")
    (package / ".paddleignore").write_text("[z-a]\n")
    refused(me(*SUBMIT, str(package)), ".paddleignore, line 1: '[z-a]' is not a pattern")
    (package / ".paddleignore").write_text("*\n")
    refused(me(*SUBMIT, str(package)), "has no file for the pods: expected a directory with the program")
    assert nothing_left(plane, me)


@pytest.fixture(params=["configmaps", "jobs"])
def refusing(plane: ControlPlane, me: User, request: pytest.FixtureRequest) -> Iterator[str]:
    """A cluster that refuses objects of a kind only when they are really to be made, as a full quota may."""
    group = {"configmaps": "", "jobs": "batch"}[request.param]
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [request.param]}
    only = {"matchLabels": {"kubernetes.io/metadata.name": me.namespace}}
    where = {"resourceRules": [rule], "namespaceSelector": only}
    no = {"expression": "request.dryRun", "message": "not today"}
    name = me.namespace
    policy = {"metadata": {"name": name}, "spec": {"matchConstraints": where, "validations": [no]}}
    binding = {"metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}}
    plane.ask("POST", f"{POLICIES}ies", policy)
    plane.ask("POST", f"{POLICIES}ybindings", binding)
    try:
        wait_until(lambda: refuses(plane, me, request.param), timeout=60, every=0.2)
        yield request.param
    finally:
        plane.ask("DELETE", f"{POLICIES}ybindings/{name}")
        plane.ask("DELETE", f"{POLICIES}ies/{name}")


def refuses(plane: ControlPlane, me: User, resource: str) -> bool:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    made: dict[str, Json] = {
        "configmaps": {"kind": "ConfigMap", "metadata": {"name": "probe"}},
        "jobs": {"kind": "Job", "metadata": {"name": "probe"}, "spec": {"suspend": True, "template": {"spec": pod}}},
    }
    kind = made[resource]["kind"]
    try:
        plane.make(me.namespace, made[resource])
    except AssertionError as error:
        return "not today" in str(error)
    plane.delete(me.namespace, kind, "probe")
    return False


def test_a_refusal_half_way_leaves_neither_job_nor_package(
    plane: ControlPlane, me: User, package: Path, refusing: str
) -> None:
    said = me(*SUBMIT, str(package))
    assert said.code == 1
    named = {"configmaps": "the ConfigMap alone-package", "jobs": "the Job alone"}[refusing]
    assert f"{named} was not created, and nothing of the job is left" in said.err
    assert "not today" in said.err
    wait_until(lambda: nothing_left(plane, me), timeout=30, every=0.2)


def test_who_may_not_make_config_maps_is_told_and_can_still_remove_jobs(
    plane: ControlPlane, me: User, package: Path
) -> None:
    """As with the Role of 0.1.0."""
    path = f"{place_of('Role', me.namespace)}/paddlectl"
    role = plane.ask("GET", path)
    role["rules"] = [each for each in role["rules"] if "configmaps" not in each["resources"]]
    plane.ask("PUT", path, role)
    wait_until(lambda: "configmaps" in me(*SUBMIT, "--dry-run", str(package)).err, timeout=30, every=0.2)
    assert me(*SUBMIT, str(package)).code == 1
    assert nothing_left(plane, me)
    assert me(*SUBMIT, "/in-the-image").code == 0
    assert me("kill", "-rm", "alone").code == 0
    wait_until(lambda: nothing_left(plane, me), timeout=30, every=0.2)
