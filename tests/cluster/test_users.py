"""Two users of one cluster, each with a namespace and the shipped Role: each sees and touches only their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.files import HOME, user_of
from tests.cluster.kubectl import Kubectl
from tests.cluster.volumes import Volume, training_in
from tests.support.desks import User
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("images")

JOB = "everybodys-job"
SUBMITTED = (
    "submit", "-jobname", JOB, "-cpu", "100m", "-memory", "256Mi", "-parallelism", "1", "-pscpu", "100m",
    "-pservers", "1", "-psmemory", "256Mi", "-entry", "sleep 300",
)  # fmt: skip


@pytest.fixture
def me(namespace: Kubectl, claimed: Volume, tmp_path: Path) -> User:
    claimed.path.chmod(0o777)
    return user_of(namespace, tmp_path)


@pytest.fixture
def other(cluster: Cluster, tmp_path: Path) -> Iterator[User]:
    place = tmp_path / "other"
    place.mkdir()
    with training_in(cluster, place) as training:
        training.volume.path.chmod(0o777)
        yield user_of(training.kubectl, place)


def test_each_has_a_job_of_the_same_name_and_files_and_reaches_no_other(
    me: User, other: User, claimed: Volume, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "train.py").write_text("")
    for each in (me, other):
        done = each(*SUBMITTED, str(package), timeout=120)
        assert done.code == 0, done.err
    for each in (me, other):
        running = each("wait", JOB, "--for", "running", "--timeout", "90s", timeout=120)
        assert running.code == 0, running.err
        assert [row[1] for row in each("get", "jobs").rows] == ["NAME", JOB]
    for words in (
        ("get", "jobs"), ("get", "workers", JOB), ("get", "registry"), ("logs", JOB), ("describe", JOB),
        ("kill", JOB), ("ls",), ("rm", "-r", f"{HOME}/package"),
        (*SUBMITTED, "--replace", str(package)),
        ("registry", "-name", "mine", "-username", "u", "-password", "p", "-server", "registry.example.com"),
    ):  # fmt: skip
        said = me(*words, "-namespace", other.namespace)
        assert (said.code, said.out) == (1, ""), words
        assert "not allowed" in said.err, (words, said.err)
    assert me("mkdir", f"{HOME}/mine", timeout=120).code == 0
    assert (claimed.path / "mine").is_dir()
    assert "mine" not in other("ls", timeout=120).out
    assert me("kill", "-rm", JOB).code == 0
    wait_until(lambda: len(me("get", "jobs").rows) == 1, timeout=60, every=1)
    assert other("wait", JOB, "--for", "running", "--timeout", "5s").code == 0
