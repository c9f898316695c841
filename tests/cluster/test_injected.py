"""Images that have never heard of the launcher, by the desk: one trains, its model comes back; others are told of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.files import HOME, user_of
from tests.cluster.kubectl import Kubectl
from tests.cluster.volumes import Volume
from tests.grounds.docker.images import BASE, INIT
from tests.support.desks import User

pytestmark = pytest.mark.usefixtures("images")

JOB = "any-image"
PROGRAM = """\
import os
from pathlib import Path
from launcher import here
start, _ = here.resume()
for number in range(start, 2):
    with here.saving(number) as directory:
        if directory:
            Path(directory, "model").write_text(f"pass {number} of {here.trainers()}, {os.environ['PYTHONPATH']}")
    if number == 0 and here.rank() == 1:
        raise SystemExit(3)
"""
# A disk of the node that is full.
FULL = "spec: {volumes: [{name: launcher, emptyDir: {medium: Memory, sizeLimit: 1Mi}}]}\n"


@pytest.fixture
def me(namespace: Kubectl, claimed: Volume, tmp_path: Path) -> User:
    """A user whose datacenter names no image but the one that brings the launcher."""
    claimed.path.chmod(0o777)
    namespace("label", "namespace", namespace.namespace, "pod-security.kubernetes.io/enforce=restricted")
    return user_of(namespace, tmp_path)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    made = tmp_path / "package"
    made.mkdir()
    (made / "train.py").write_text(PROGRAM)
    return made


def submit(job: str, *more: str) -> tuple[str, ...]:
    return (
        "submit", "-jobname", job, "-cpu", "100m", "-memory", "256Mi", "-parallelism", "2", "-image", BASE,
        "-runtime", "torch", "-entry", "python train.py", *more,
    )  # fmt: skip


def test_it_trains_under_the_restricted_standard_and_begins_again_in_its_pods(
    namespace: Kubectl, me: User, claimed: Volume, package: Path, tmp_path: Path
) -> None:
    alone = me.saying(image=None, **{"launcher-image": INIT})
    said = me(*submit(JOB, "-here", str(package)), *alone, timeout=120)
    assert said.code == 0, said.err
    waited = me("wait", JOB, "--timeout", "150s", timeout=180)
    assert waited.code == 0, waited.err + me("describe", JOB).out + me("logs", JOB).out
    pods = namespace.items("pods")
    assert [each["spec"]["containers"][0]["image"] for each in pods] == [BASE, BASE]  # neither was replaced
    model = tmp_path / "model"
    copied = me("cp", f"{HOME}/jobs/{JOB}/output/pass-00001/model", str(model), *alone, timeout=120)
    assert copied.code == 0, copied.err
    assert model.read_text().startswith("pass 1 of 2, /launcher/lib/python3.")
    output = claimed.path / "jobs" / JOB / "output"
    assert "==== generation 2, after pass 0: trainer 1 exited with 3" in (output / "node_0" / "train.log").read_text()


def test_what_keeps_such_a_pod_from_starting_is_told_with_what_to_do(me: User, package: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "full.yaml"
    overlay.write_text(FULL)
    begun = (
        me(*submit("without", "-inject", "never"), str(package), timeout=120),
        me(*submit("unknown"), "/package", LAUNCHER_INIT_IMAGE="nowhere.invalid/init:1", timeout=120),
        me(*submit("full", "-pod", str(overlay)), "/package", LAUNCHER_INIT_IMAGE=INIT, timeout=120),
    )
    assert [each.code for each in begun] == [0, 0, 0], begun
    without = me("wait", "without", "--timeout", "60s", timeout=90)
    assert (without.code, f"{BASE} has no launcher: -inject always brings it" in without.err) == (1, True), without
    unknown = me("wait", "unknown", "--timeout", "60s", timeout=90)
    assert "the launcher's image cannot be pulled" in unknown.err, unknown
    assert "is nowhere.invalid/init:1 its name (it is set by `launcher-image:`" in unknown.err
    full = me("wait", "full", "--timeout", "90s", timeout=120)
    assert full.code == 1, full
    assert "ended with 74: launcher.inject: /launcher/" in full.err, full.err + me("describe", "full").out
    assert "No space left on device; expected room for all of it" in me("describe", "full").out
    for job, told in (("without", "-inject always"), ("unknown", "launcher's image cannot be pulled")):
        assert told in me("describe", job).out
        assert told in me("logs", job).err
