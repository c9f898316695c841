"""k8s/any-image with a program of musl and no Python, and with Debian 11: neither has ever heard of the launcher.

Both are under the `restricted` standard. A program of each is killed in its midst, and all start again in their pods.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.kubectl import Kubectl, KubectlFailed
from tests.cluster.pods import pod
from tests.cluster.training import await_state, ended, manifest, pods, told
from tests.cluster.volumes import JOB, Training, training_in
from tests.grounds.cluster import NoGround
from tests.grounds.cluster import images as made
from tests.grounds.docker import INIT, NotHere, need
from tests.grounds.docker.base import old_tar
from tests.support import brought
from tests.support.manifests import ROOT
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("images")

MUSL, OLD = "ground.test/musl:1", "ground.test/old:1"
# What an image may say to its own Python and loader, and the end of ours if it heard it.
ODD = ["PATH=/usr/bin:/bin", "PYTHONHOME=/nowhere", "LD_LIBRARY_PATH=/lib:/usr/lib", "LD_PRELOAD=/lib/nothing.so"]
NODES, PASSES, CODE = 3, 4, 5
HOLD = f"/home/jobpath/{JOB}/hold"
STATIC = ("/bin/train", "hold", HOLD, str(CODE))
# The slope and the middle of a line, from a third of its points on each node.
LEARNED = "learned 3.000 1.000 by Python 3.9"
PROGRAM = f"""\
import json, os, socket, sys, time
from launcher import here

SIZE, RANK = here.trainers(), here.rank()
PLACE = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if RANK == 0:
    door = socket.create_server(("", PLACE[1]))
here.barrier("the door is open")
wires = [door.accept()[0] for _ in range(1, SIZE)] if RANK == 0 else [socket.create_connection(PLACE)]
files = [wire.makefile("rw") for wire in wires]

def say(values):
    for file in files:
        print(json.dumps(values), file=file, flush=True)

def hear():
    return [json.loads(file.readline()) for file in files]

def mean(values):
    if RANK == 0:
        values = [sum(each) / SIZE for each in zip(values, *hear())]
        say(values)
        return values
    say(values)
    return hear()[0]

points = [(place / 30 - 1, 3 * (place / 30 - 1) + 1) for place in range(RANK, 60, SIZE)]
line = [0.0, 0.0]
start, directory = here.resume()
if directory:
    with open(f"{{directory}}/line") as file:
        line = json.load(file)
for number in range(start, {PASSES}):
    while number == {PASSES} // 2 and os.path.exists("{HOLD}"):
        time.sleep(0.02)
    for _ in range(50):
        off = [(line[0] * x + line[1] - y, x) for x, y in points]
        slopes = mean([sum(each * x for each, x in off) / len(off), sum(each for each, _ in off) / len(off)])
        line = [value - slope for value, slope in zip(line, slopes)]
    with here.saving(number) as directory:
        if directory:
            with open(f"{{directory}}/line", "w") as file:
                json.dump(line, file)
    print("learned in pass", number, flush=True)
print(f"learned {{line[0]:.3f}} {{line[1]:.3f}} by Python {{sys.version_info[0]}}.{{sys.version_info[1]}}")
"""
# As whoever is in the pod could do it: the image has no `kill`.
KILL = """\
import os, pathlib, signal, sys
for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    if path.read_bytes().startswith(f"{sys.argv[1]}\\0".encode()):
        os.kill(int(path.parent.name), signal.SIGKILL)
        print("killed")
"""


@pytest.fixture(scope="module")
def kinds(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The image of musl with a static program and no Python, and the oldest Debian, on every node."""
    place = tmp_path_factory.mktemp("kinds")
    try:
        need(musl_gcc="musl-tools")
        tar = old_tar()
        train = brought.make_program(brought.CHILDREN / "alone.c", place / "train", "-static", compiler="musl-gcc")
        cluster.load_image(made.write(place / "musl.tar", MUSL, {"bin/train": train}, config={"Env": ODD}))
        cluster.load_image(made.packed(place / "old.tar", OLD, tar, config={"Env": ODD[:1]}))
    except (NoGround, NotHere) as fault:
        pytest.skip(f"no such images here: {fault}")


@pytest.fixture(scope="module")
def trainings(
    cluster: Cluster,
    kinds: None,  # noqa: ARG001  # they are to be there
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, Training]]:
    """Both, begun, each in a namespace of its own."""
    jobs = {MUSL: job(MUSL, "env", *STATIC), OLD: job(OLD, "torch", "/usr/bin/python3", "train.py")}
    with ExitStack() as stack:
        begun = {}
        for image, text in jobs.items():
            training = begun[image] = stack.enter_context(training_in(cluster, tmp_path_factory.mktemp("any")))
            example = training.volume.job / "example"
            shutil.copytree(ROOT / "launcher", example / "launcher", ignore=shutil.ignore_patterns("__pycache__"))
            (example / "train.py").write_text(PROGRAM)
            (training.volume.job / "hold").touch()
            kubectl = training.kubectl
            kubectl("label", "namespace", kubectl.namespace, "pod-security.kubernetes.io/enforce=restricted")
            kubectl.apply(text)
        yield begun


def job(image: str, runtime: str, *words: str) -> str:
    """Return the folder with these images and this command, and one restart."""
    text = manifest("any-image")
    once = '        - name: LAUNCHER_MAX_RESTARTS\n          value: "1"\n'
    for old, new in {
        "your-repo/paddle-launcher-init:0.1.0": INIT,
        "your-repo/framework:any": image,
        '"python", "train.py"]': f"{json.dumps(words)[1:]}",
        "value: torch": f"value: {runtime}",
        "        - name: LAUNCHER_GRACE\n": f"{once}        - name: LAUNCHER_GRACE\n",
    }.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def started(kubectl: Kubectl, generation: int) -> dict[str, str]:
    """Wait until every pod has started its program so often; return their names and UIDs."""

    def every() -> bool:
        found = pods(kubectl)
        running = [each for each in found if each["status"]["phase"] == "Running"]
        return len(running) == NODES and all(
            len(told(kubectl, each, "child_started")) == generation for each in found
        )

    wait_until(every, timeout=120, every=0.3)
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in pods(kubectl)}


def killed_once(training: Training, program: str) -> None:
    """Kill one pod's program, see all start again in the same pods, and let them go on."""
    kubectl = training.kubectl
    first = started(kubectl, 1)
    one = next(name for name in first if name.startswith(f"{JOB}-1-"))
    assert kubectl("exec", one, "--", "/launcher/bin/python", "-c", KILL, program) == "killed\n"
    assert started(kubectl, 2) == first
    (training.volume.job / "hold").unlink()


def ends(kubectl: Kubectl) -> list[Mapping[str, object]]:
    """Return how the pods' containers ended, which were never started anew."""
    found = pods(kubectl)
    assert [status["restartCount"] for each in found for status in each["status"]["containerStatuses"]] == [0] * NODES
    return [ended(each) for each in found]


def test_debian_11_trains_by_its_own_python_and_starts_again_in_place(trainings: dict[str, Training]) -> None:
    kubectl, volume = trainings[OLD].kubectl, trainings[OLD].volume
    with pytest.raises(KubectlFailed, match='violates PodSecurity "restricted'):
        kubectl.apply(pod("careless", "true"))
    wait_until(lambda: (volume.output / "pass-00001" / "done").exists(), timeout=150, every=0.3)
    killed_once(trainings[OLD], "/usr/bin/python3")
    await_state(kubectl, "Complete")
    assert [each["exitCode"] for each in ends(kubectl)] == [0] * NODES
    for rank in range(NODES):
        log = (volume.output / f"node_{rank}" / "train.log").read_text()
        assert [line for line in log.splitlines() if line.startswith("learned")] == [
            *(f"learned in pass {number}" for number in range(PASSES)), LEARNED,
        ]  # fmt: skip


def test_a_static_program_in_an_image_of_musl_starts_again_in_place_and_its_code_is_the_verdict(
    trainings: dict[str, Training],
) -> None:
    kubectl = trainings[MUSL].kubectl
    killed_once(trainings[MUSL], STATIC[0])
    await_state(kubectl, "Failed")
    found = ends(kubectl)
    assert [each["exitCode"] for each in found] == [CODE] * NODES
    assert all(f"exited with {CODE}" in str(each["message"]) for each in found)
