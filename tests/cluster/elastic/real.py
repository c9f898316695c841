"""Real trainings whose width changes on the tests' cluster: `python -m tests.cluster.elastic.real`.

JAX (k8s/elastic, no right at the API), and the recommendation example (`recommendation.py`). What a change costs is
told by the program itself: which steps it made twice, and for how long it made none.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from tests.cluster.cluster import Cluster
from tests.cluster.elastic import recommendation
from tests.cluster.elastic.page import put
from tests.cluster.elastic.queues import a_queue, put_in_queue
from tests.cluster.elastic.recommendation import CPU, NOTICE, preempted
from tests.cluster.kubectl import Kubectl
from tests.cluster.test_frameworks import CLAIM, furnish, job
from tests.cluster.training import await_state, pods
from tests.cluster.volumes import JOB, Training, room_below, shared, training_in
from tests.grounds.cluster import Ground
from tests.grounds.controllers import KUEUE, beside
from tests.grounds.docker import image_tar, paddle_tar
from tests.real import install
from tests.real.frameworks import ENVIRON, JAX
from tests.support.manifests import ROOT
from tests.support.recommendation import errors
from tests.support.waiting import wait_until
from tests.support.whole_lines import whole_lines

Json = dict[str, Any]

EPOCHS = 16
PAUSE = 0.1  # after each of the 20 steps of a pass
SPOT = Path(__file__).with_name("spot.txt")  # the example, which saves as soon as all is to end
STEP = re.compile(r"^ Step=(\S+) of=(\d+) at=(\S+)$", re.MULTILINE)
LIMIT = 300.0
MARGIN = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """A training of JAX on the cluster, and what it told."""

    kubectl: Kubectl
    training: Training
    ground: Ground

    @property
    def log(self) -> str:
        """The log of rank 0, whichever pod it was."""
        try:
            return (self.training.volume.output / "node_0" / "train.log").read_text()
        except FileNotFoundError:
            return ""

    @property
    def steps(self) -> list[tuple[str, int, float]]:
        """Each step, how many made it, and when."""
        return [(step, int(of), float(at)) for step, of, at in STEP.findall(self.log)]

    def await_width(self, width: int, more: int = 6) -> None:
        """Wait until so many steps were made one after the other by so many."""
        wait_until(lambda: [of for _, of, _ in self.steps[-more:]] == [width] * more, timeout=LIMIT, every=0.2)

    def scale(self, width: int, **more: object) -> None:
        change = {"spec": {"parallelism": width, "completions": width, **more}}
        self.kubectl("patch", "job", JOB, "--type=merge", "-p", json.dumps(change))
        self.await_width(width)

    def leaver(self) -> Json:
        """Return the pod of index 1, which takes part and does not lead."""
        label = "batch.kubernetes.io/job-completion-index=1"
        return pods(self.kubectl, f"job-name={JOB},{label}")[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of a training: its widths, steps made twice, each time without a step, restarts, held-out error."""

    what: str
    widths: tuple[int, ...]
    again: int
    still: tuple[float, ...]
    restarts: int
    rmse: float

    def __str__(self) -> str:
        """Return its line of the table."""
        way, gaps = " -> ".join(map(str, self.widths)), ", ".join(f"{each:.1f}" for each in self.still)
        return f"| {self.what} | {way} | {self.again} | {gaps} | {self.restarts} | {self.rmse:.4f} |"


@contextmanager
def jax_gang(
    cluster: Cluster,
    ground: Ground,
    packages: Path,
    *,
    members: str,
    pods_: int,
    spares: int = 0,
    queued: bool = False,
) -> Iterator[Gang]:
    """Begin a training with so many pods; in a queue with three of them."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="elastic-")))
        training = stack.enter_context(training_in(cluster, room_below(place)))
        for shard in training.volume.job.glob("[0-9]*"):  # a stand-in's, and fewer than the most
            shutil.rmtree(shard)
        furnish(training.volume.job / "example", JAX)
        shutil.copy(SPOT, training.volume.job / "example" / "spot.py")
        kubectl, name = training.kubectl, f"packages-{training.kubectl.namespace}"
        kubectl.apply(shared(kubectl.namespace, "packages", packages, name), CLAIM % name)
        stack.callback(kubectl, "delete", "persistentvolume", name, "--wait=false")
        text = job(JAX, "elastic").replace("train.py", "spot.py").replace('value: "2:5"', f'value: "{members}"')
        text = text.replace("parallelism: 5", f"parallelism: {pods_}").replace(
            "completions: 5", f"completions: {pods_}"
        )
        text = text.replace("tolerationSeconds: 30", "tolerationSeconds: 5").replace("cpu: 500m", f"cpu: {CPU}m")
        text = text.replace("memory: 2Gi", "memory: 1Gi")
        own = {
            "PASSES": EPOCHS,
            "PAUSE": PAUSE,
            "LAUNCHER_SETTLE": 5,
            "LAUNCHER_SHRINK_AFTER": 5,
            "LAUNCHER_SPARES": spares,
        }
        lines = "".join(f'        - name: {key}\n          value: "{value}"\n' for key, value in own.items())
        text = text.replace("        - name: LAUNCHER_GRACE\n", f"{lines}        - name: LAUNCHER_GRACE\n", 1)
        if queued:
            stack.enter_context(a_queue(kubectl, cpu=CPU))
        kubectl.apply(*(_queued(text) if queued else (text,)))
        yield Gang(kubectl=kubectl, training=training, ground=ground)


def _queued(text: str) -> list[Json]:
    objects = list(yaml.safe_load_all(text))
    for each in objects:
        if each["kind"] == "Job":
            put_in_queue(each, least=2)
    return objects


def came_to(gang: Gang, what: str) -> Row:
    """Wait for the end, and return what it was."""
    await_state(gang.kubectl, "Complete", timeout=LIMIT)
    steps = gang.steps
    places = [step for step, _, _ in steps]
    widths = tuple(width for width, _ in itertools.groupby(of for _, of, _ in steps))
    gaps = [after[-1] - before[-1] for before, after in itertools.pairwise(steps)]
    events = gang.training.volume.output / "events.jsonl"
    made = [each for each in map(json.loads, whole_lines(events)) if each["event"] == "generation_made"]
    return Row(
        what=what,
        widths=widths,
        again=len(places) - len(set(places)),
        still=tuple(sorted(gaps)[-(len(made) - 1) :]) if len(made) > 1 else (),
        restarts=made[-1]["restarts"],
        rmse=errors(gang.log)[EPOCHS - 1],
    )


def planned(gang: Gang) -> str:
    gang.await_width(3)
    for width in (5, 2, 3):
        gang.scale(width)
    return "patched from 3 to 5 to 2 to 3 pods"


def suspended(gang: Gang) -> str:
    gang.await_width(3)
    gang.kubectl("patch", "job", JOB, "--type=merge", "-p", '{"spec": {"suspend": true}}')
    wait_until(lambda: not pods(gang.kubectl), timeout=90, every=0.5)
    gang.scale(2, suspend=False)
    return "suspended at 3 pods, resumed with 2"


def evicted(gang: Gang) -> str:
    gang.await_width(3)
    node = gang.leaver()["spec"]["nodeName"]
    words = (
        "--ignore-daemonsets",
        "--delete-emptydir-data",
        f"--grace-period={NOTICE}",
        "--timeout=90s",
    )
    gang.kubectl("drain", node, f"--pod-selector=job-name={JOB}", *words, timeout=120)
    gang.kubectl("uncordon", node)
    gang.await_width(3)
    return f"a node is drained, with {NOTICE} s"


def struck(gang: Gang, width: int, after: int) -> None:
    gang.await_width(width)
    node = int(gang.leaver()["spec"]["nodeName"].rpartition("-")[2])
    gang.ground.node(node).stop()
    try:
        gang.await_width(after, more=20)
    finally:
        gang.ground.node(node).start()


def lost(gang: Gang) -> str:
    struck(gang, 3, 2)
    gang.await_width(3)
    return "a node loses power, and is there again later"


def spared(gang: Gang) -> str:
    struck(gang, 2, 2)
    return "a node loses power, with a spare"


def alone() -> float:
    """Return the held-out error of one undisturbed process."""
    python = install.python(install.FRAMEWORKS)
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(JAX.program, place)
        shutil.copy(SPOT, Path(place, "spot.py"))
        env = {**os.environ, **ENVIRON, "PASSES": str(EPOCHS), "PYTHONPATH": str(ROOT)}
        words = [str(python), "spot.py"]
        done = subprocess.run(words, cwd=place, env=env, check=True, capture_output=True, text=True, timeout=LIMIT)
        return errors(done.stdout)[EPOCHS - 1]


Scenario = tuple[Callable[[Gang], str], Json]
SCENARIOS: dict[str, Scenario] = {
    "planned": (planned, {"members": "2:5", "pods_": 3}),
    "suspended": (suspended, {"members": "2:5", "pods_": 3}),
    "evicted": (evicted, {"members": "2:5", "pods_": 3}),
    "queued": (preempted, {"members": "2:5", "pods_": 5, "queued": True}),
    "lost": (lost, {"members": "2:5", "pods_": 3}),
    "spared": (spared, {"members": "2:2", "pods_": 3, "spares": 1}),
}


QUEUED = {"queued", "apart-queued"}  # Kueue is built for these: three minutes


def main(words: Sequence[str]) -> int:
    """Play every scenario, tell the table, and put it into the page where `--write` asks for it."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.elastic.real", description=__doc__)
    every = [*SCENARIOS, *recommendation.STORIES]
    parser.add_argument("names", nargs="*", help=f"of {', '.join(every)}; all where none is named")
    parser.add_argument("--write", action="store_true", help="put the table into bench/elastic.md")
    asked = parser.parse_args(words)
    names, lines, wrong = asked.names or every, [], []
    packages, undisturbed = install.packages(install.FRAMEWORKS), alone() if SCENARIOS.keys() & {*names} else 0.0
    with Ground.start() as ground, ExitStack() as stack:
        if QUEUED & {*names}:
            stack.enter_context(beside(ground, KUEUE))
        ground.load_image(image_tar())
        if recommendation.STORIES.keys() & {*names}:
            ground.load_image(paddle_tar())
        cluster = Cluster(kubectl=ground.kubectl, load_image=ground.load_image, grounds=(ground,))
        for name in names:
            if name in SCENARIOS:
                play, facts = SCENARIOS[name]
                with jax_gang(cluster, ground, packages, **facts) as gang:
                    row = came_to(gang, play(gang))
                lines.append(str(row))
                wrong += [f"{row.what}: {row.rmse:.4f}"] if abs(row.rmse - undisturbed) > MARGIN else []
            else:
                lines.append(recommendation.line(cluster, ground, name))
            print(time.strftime("%H:%M"), lines[-1], flush=True)
    head = "| what happens | widths | steps made twice | s without a step, each time | restarts | held-out RMSE |"
    text = "\n".join((head, "| --- | --- | ---: | --- | ---: | ---: |", *lines))
    if undisturbed:
        text += f"\n\nOne process of JAX, undisturbed: {undisturbed:.4f}."
    print(text)
    if asked.write:
        put("real", text)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
