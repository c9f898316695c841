"""Jobs, images and desks of 0.1.0 beside those of today; run by hand, as docs/upgrades.md says: git has 0.1.0's code.

Its image is the stand-in's with 0.1.0's package in the place of today's: what both need is the same.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.files import HOME, SERVES, put_package, user_of
from tests.cluster.kubectl import Kubectl
from tests.cluster.volumes import Volume
from tests.grounds.docker import image_tar
from tests.grounds.docker.images import STAND_IN
from tests.support.desks import Said, User
from tests.support.manifests import ROOT
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("images")

THEN = "dd90c0f"  # 0.1.0
IMAGE = "paddle-launcher:0.1.0"
NAME = "my-job"
PROGRAM = f"""\
import os, sys, time
if os.environ["TRAINING_ROLE"] == "TRAINER":
    place = os.environ["JOB_PATH"] + "/" + os.environ["JOB_NAME"] + "/output/pass-00000"
    if os.environ["TRAINER_ID"] == "0" and not os.path.exists(place):
        os.makedirs(place)
        open(place + "/model", "w").write("m")
        open(place + "/done", "w").close()
    print("starts after", os.environ.get("LAUNCHER_RESUME_DIR", "nothing")[-10:], flush=True)
    print(" Pass=0 Batch=1 samples=10 AvgCost=0.5", flush=True)
    while not os.path.exists("{HOME}/go"):
        time.sleep(0.1)
{SERVES}"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """0.1.0's package."""
    place = tmp_path_factory.mktemp("then")
    kept = subprocess.run(("git", "archive", THEN, "launcher"), capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(kept)) as archive:
        archive.extractall(place, filter="data")
    return place


@pytest.fixture(scope="module")
def image(cluster: Cluster, tree: Path) -> str:
    """0.1.0's image, on every node."""
    made = tree / "image.tar"
    layered(image_tar(), made, tree / "launcher")
    cluster.load_image(made)
    return IMAGE


def layered(archive: Path, made: Path, package: Path) -> None:
    """Write an image like the stand-in's with another package: one layer more, which hides today's."""
    with tarfile.open(archive) as found, tarfile.open(made, "w") as written:

        def content(name: str) -> bytes:
            member = found.extractfile(name)
            assert member
            return member.read()

        def put(name: str, data: bytes) -> None:
            told = tarfile.TarInfo(name)
            told.size = len(data)
            written.addfile(told, io.BytesIO(data))

        (entry,) = (each for each in json.loads(content("manifest.json")) if STAND_IN in each["RepoTags"])
        config = json.loads(content(entry["Config"]))
        layer = layer_of(package)
        config["rootfs"]["diff_ids"].append(f"sha256:{hashlib.sha256(layer).hexdigest()}")
        config["history"].append({"created_by": "0.1.0"})
        for name in dict.fromkeys(entry["Layers"]):
            put(name, content(name))
        put("then/layer.tar", layer)
        put("then.json", json.dumps(config).encode())
        manifest = {"Config": "then.json", "RepoTags": [IMAGE], "Layers": [*entry["Layers"], "then/layer.tar"]}
        put("manifest.json", json.dumps([manifest]).encode())


def layer_of(package: Path) -> bytes:
    """Return the layer: the package, and the mark that nothing below its directory is seen any more."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as layer:
        top = "opt/launcher/lib/python3.11/site-packages/launcher"
        opaque = tarfile.TarInfo(f"{top}/.wh..wh..opq")
        layer.add(package, top, recursive=False)
        layer.addfile(opaque)
        for path in sorted(package.rglob("*")):
            layer.add(path, f"{top}/{path.relative_to(package)}", recursive=False)
    return whole.getvalue()


@pytest.fixture
def me(namespace: Kubectl, claimed: Volume, tmp_path: Path) -> User:
    put_package(claimed, "package", {"train.py": PROGRAM})
    return user_of(namespace, tmp_path)


def then(me: User, tree: Path, *words: str, timeout: float = 120) -> Said:
    """Type a command at a desk of 0.1.0."""
    return typed("0.1.0", me, tree, *words, timeout=timeout)


def now(me: User, *words: str, timeout: float = 120) -> Said:
    """Type a command at a desk of today."""
    return typed("today", me, ROOT, *words, timeout=timeout)


def typed(which: str, me: User, code: Path, *words: str, timeout: float) -> Said:
    done = subprocess.run(
        me.words(*words), env=me.environ(PYTHONPATH=str(code)), cwd=me.home, capture_output=True, text=True,
        timeout=timeout, check=False,
    )  # fmt: skip
    print(f"{which}: paddlectl {' '.join(words)} -> {done.returncode}\n{done.stdout}{done.stderr}")
    return Said(code=done.returncode, out=done.stdout, err=done.stderr)


def submit(image: str) -> tuple[str, ...]:
    return (
        "submit", "-jobname", NAME, "-cpu", "100m", "-memory", "256Mi", "-parallelism", "2", "-pscpu", "100m",
        "-pservers", "1", "-psmemory", "256Mi", "-image", image, "-entry", "/opt/launcher/bin/python train.py",
        f"{HOME}/package",
    )  # fmt: skip


def state(me: User) -> str:
    return me("get", "jobs", "-o", "wide").rows[1][7]


def trains(me: User, times: int = 2) -> None:
    wait_until(lambda: me("logs", NAME).out.count("AvgCost") >= times, timeout=120, every=1)


def test_todays_desk_and_a_job_of_then(me: User, claimed: Volume, image: str, tree: Path, tmp_path: Path) -> None:
    assert then(me, tree, *submit(image)).code == 0
    trains(me)
    assert now(me, "get", "jobs").code == 0
    wait_until(lambda: state(me) == "Running", timeout=60, every=1)
    assert len(now(me, "get", "workers", NAME).rows) == 4
    page = now(me, "describe", NAME)
    assert (page.code, "the gang, according to its leader" in page.out) == (0, True)
    assert now(me, "doctor", NAME).out
    assert now(me, "report", NAME, "-o", str(tmp_path / "running.html")).code == 0
    assert then(me, tree, "kill", NAME).code == 0
    wait_until(lambda: now(me, "get", "workers", NAME).out.count("\n") == 1, timeout=90, every=1)
    assert state(me) == "Suspended"  # that kill left no mark
    assert "AvgCost" in now(me, "logs", NAME).out  # from the volume
    assert now(me, "resume", NAME).code == 0
    trains(me)
    assert now(me, "kill", NAME).code == 0
    wait_until(lambda: now(me, "get", "workers", NAME).out.count("\n") == 1, timeout=90, every=1)
    assert state(me) == "Killed"
    assert "Killed" in then(me, tree, "describe", NAME).out
    assert now(me, "resume", NAME).code == 0
    trains(me)
    assert now(me, "suspend", NAME).code == 0
    assert now(me, "resume", NAME).code == 0
    trains(me)
    assert now(me, "cp", f"{HOME}/jobs/{NAME}/output/pass-00000", ".").code == 0
    assert now(me, "ls", "-l", f"{HOME}/jobs/{NAME}/output").code == 0
    (claimed.path / "go").touch()
    assert now(me, "wait", NAME, "--timeout", "120s", timeout=150).code == 0
    for line in (claimed.path / "jobs" / NAME / "output" / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "generation_made":
            print({each: event[each] for each in ("generation", "resume", "restarts", "cause")})
    assert now(me, "report", NAME, "-o", str(tmp_path / "page.html")).code == 0
    written = (tmp_path / "page.html").read_text()
    assert "AvgCost" in written
    assert now(me, "kill", "-rm", NAME).code == 0


def test_a_desk_of_then_and_a_job_of_today(me: User, claimed: Volume, tree: Path) -> None:
    assert now(me, *submit(STAND_IN)).code == 0
    trains(me)
    for words in (("get", "jobs"), ("get", "workers", NAME), ("describe", NAME), ("logs", NAME), ("doctor", NAME)):
        assert then(me, tree, *words).code == 0
    assert now(me, "suspend", NAME).code == 0
    assert "Killed" in then(me, tree, "get", "jobs", "-o", "wide").out
    assert now(me, "resume", NAME).code == 0
    trains(me)
    assert then(me, tree, "kill", NAME).code == 0
    assert state(me) == "Suspended"
    assert now(me, "resume", NAME).code == 0
    (claimed.path / "go").touch()
    assert then(me, tree, "wait", NAME, "--timeout", "120s", timeout=150).code == 0
    assert then(me, tree, "report", NAME).code == 0
    assert then(me, tree, "ls", f"{HOME}/jobs/{NAME}/output").code == 0


def test_a_job_goes_on_under_the_other_launcher(me: User, image: str) -> None:
    assert now(me, *submit(image)).code == 0
    trains(me)
    for other in (STAND_IN, image):
        assert now(me, *submit(other), "--replace", timeout=200).code == 0
        trains(me)
        assert "starts after pass-00000" in now(me, "logs", NAME).out


def test_launchers_of_then_and_of_today_make_no_gang(namespace: Kubectl, me: User, image: str, tree: Path) -> None:
    said = then(me, tree, *submit(image), "--dry-run")
    texts = re.split(r"^---$", said.out, flags=re.MULTILINE)
    for text in texts:
        mixed = text.replace(image, STAND_IN) if "my-job-pserver" in text else text
        mixed = re.sub(r"( +)env:\n", r"\1env:\n\1- {name: LAUNCHER_JOIN_TIMEOUT, value: '60'}\n", mixed)
        if mixed.strip():
            namespace.apply(mixed)
    wait_until(lambda: state(me) == "Failed", timeout=240, every=3)
    assert "75" in now(me, "describe", NAME).out
    assert "status_ignored" in now(me, "logs", NAME).out
