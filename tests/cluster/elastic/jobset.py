"""A gang of ours beside the same pods in the real JobSet, on one cluster: `python -m tests.cluster.elastic.jobset`.

Both train by a program that notes when it has met all others of its width. Ours meets by its launcher, theirs by
files on the shared volume, which costs nothing: what is measured is what is around the program.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.cluster.cluster import Cluster
from tests.cluster.elastic.page import put
from tests.cluster.elastic.policies import uptime
from tests.cluster.elastic.wide import NAME, made, wide
from tests.cluster.files import HOME, put_package, user_of
from tests.cluster.kubectl import Kubectl
from tests.cluster.training import manifest, running
from tests.cluster.volumes import Training, training_in
from tests.grounds.cluster import Ground
from tests.grounds.controllers import JOBSET, beside
from tests.grounds.docker import image_tar
from tests.grounds.docker.images import STAND_IN
from tests.support.desks import CLAIM
from tests.support.waiting import wait_until
from tests.support.whole_lines import whole_lines

Json = dict[str, Any]

Found = dict[tuple[str, int], "Took"]  # by what happened, and the width that trained then

ROUNDS = 5
LIMIT = 20
SIDES = "ours", "theirs"
THEIR_NAME = "theirs"
SELECTOR = f"jobset.sigs.k8s.io/jobset-name={THEIR_NAME}"
NARROW, WIDE = 3, 5
ROWS = {
    ("made", NARROW): f"its creation -> all {NARROW} train",
    ("wider", WIDE): f"a planned resize from {NARROW} to {WIDE} -> all {WIDE} train",
    ("narrower", NARROW): f"a planned resize from {WIDE} to {NARROW} -> all {NARROW} train",
    ("lost", NARROW - 1): f"a pod of {NARROW} is killed -> the other {NARROW - 1} train",
    ("lost", NARROW): f"a pod of {NARROW} is killed -> all {NARROW} train again",
}
RUN = "batch.kubernetes.io/controller-uid"
PYTHON = "/opt/launcher/bin/python"
NOTES = """\
def note(index, width):
    with open("{place}/notes", "a") as notes:
        notes.write("%s %d %d %.3f\\n" % ("{who}", index, width, time.clock_gettime(time.CLOCK_BOOTTIME)))

def step(index):
    if index == 0:
        note(index, 0)
    time.sleep(0.1)
"""
OURS = f"""\
import os, time
from launcher import here

{NOTES.format(place=HOME, who="ours")}
rank = int(os.environ["TRAINER_ID"])
here.barrier("met")
note(rank, here.trainers())
number = here.resume()[0]
while True:
    here.barrier("pass %d" % number)
    for _ in range(3):
        step(rank)
    with here.saving(number) as directory:
        if directory:
            open(directory + "/model", "w").write("model")
    number += 1
"""
# It obeys at once, as a program below a launcher does.
THEIRS = f"""\
import os, signal, sys, time

{NOTES.format(place="/volume", who="theirs")}
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
index, width = int(os.environ["JOB_COMPLETION_INDEX"]), int(os.environ["WIDTH"])
place = "/volume/met/" + os.environ["RUN"]
os.makedirs(place, exist_ok=True)
open(place + "/%d" % index, "w").close()
while len(os.listdir(place)) < width:
    time.sleep(0.02)
note(index, width)
while True:
    step(index)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """The seconds until all trained, and for how many of them nobody made a step."""

    seconds: float
    still: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two: how it is begun, made wider and ended, and where its programs note that they have met."""

    who: str
    kubectl: Kubectl
    notes: Path
    begin: Callable[[int], None]
    resize: Callable[[int], None]
    end: Callable[[], None]

    def all_train(self, width: int, since: float, timeout: float = 180) -> Took:
        """Wait until so many programs of that width have met after a moment, and return how long it took."""
        wait_until(lambda: len(self.met(width, since)) == width, timeout=timeout, every=0.1)
        met = self.met(width, since).values()
        before = [at for index, of, at in self.noted() if of == 0 and at < min(met)]
        return Took(seconds=max(met) - since, still=max(met) - max(before, default=since))

    def met(self, width: int, since: float) -> dict[int, float]:
        """Return when each program of a width had met the others, after a moment."""
        found: dict[int, float] = {}
        for index, of, at in self.noted():
            if of == width and at > since:
                found.setdefault(index, at)
        return found

    def noted(self) -> list[tuple[int, int, float]]:
        """Return what its programs noted: who met how many others, or with 0 of them made a step, and when."""
        lines = (line.split() for line in whole_lines(self.notes))
        return [(int(index), int(of), float(at)) for who, index, of, at in lines if who == self.who]

    def lose(self) -> float:
        """Kill all that runs in the pod of index 1, and return when."""
        (pod,) = wait_until(lambda: [each for each in self.kubectl.items("pods") if index_of(each) == 1], timeout=30)
        struck = uptime()
        for process in psutil.process_iter(["name"]):
            with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
                of_pod = pod["metadata"]["uid"] in Path(f"/proc/{process.pid}/cgroup").read_text()
                if of_pod and process.info["name"] != "pause":
                    process.kill()
        return struck


def main(words: Sequence[str]) -> int:
    """Measure both sides in turns, tell the table, and put it into the page where `--write` asks for it."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.elastic.jobset", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--write", action="store_true", help="put the table into bench/elastic.md")
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="jobset-") as name, Ground.start() as ground, beside(ground, JOBSET):
        place = Path(name)
        one_place, other_place = (place / "volumes" / who for who in SIDES)
        for each in (one_place, other_place):
            each.mkdir(parents=True)
        ground.load_image(image_tar())
        cluster = Cluster(kubectl=ground.kubectl, load_image=ground.load_image, grounds=(ground,))
        with training_in(cluster, one_place) as one, training_in(cluster, other_place) as other:
            sides = ours(one, place), theirs(other)
            text = table([measured(side) for side in sides * asked.rounds])
            text = f"{text}\n\n{patched(sides[1])}"
    print(text)
    if asked.write:
        put("jobset", text)
    return 0


def index_of(pod: Json) -> int:
    """Return a pod's index, none where it is on its way out."""
    gone = pod["metadata"].get("deletionTimestamp") or pod["status"]["phase"] != "Running"
    return -1 if gone else int(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"])


def measured(side: Side) -> tuple[str, Found]:
    """Let everything happen to one side once, and return how many seconds each thing took."""
    found: Found = {}
    since = uptime()
    side.begin(NARROW)
    found["made", NARROW] = side.all_train(NARROW, since)
    for what, width in (("wider", WIDE), ("narrower", NARROW)):
        since = uptime()
        side.resize(width)
        found[what, width] = side.all_train(width, since)
    struck = side.lose()
    first = side.all_train(NARROW - 1, struck) if side.who == "ours" else Took(seconds=0.0, still=0.0)
    last = side.all_train(NARROW, struck)
    found["lost", NARROW] = Took(seconds=last.seconds, still=first.still + last.still)
    if side.who == "ours":
        found["lost", NARROW - 1] = first
    side.end()
    told = ", ".join(
        f"{what} {width}: {each.seconds:.1f} s, {each.still:.1f}" for (what, width), each in found.items()
    )
    print(f"{side.who}: {told}", flush=True)
    return side.who, found


def patched(side: Side) -> str:
    """Return what becomes of a JobSet whose width is patched, with its alpha feature."""
    since = uptime()
    side.begin(NARROW)
    side.all_train(NARROW, since)
    since = uptime()
    field = "/spec/replicatedJobs/0/template/spec"
    changes = [{"op": "replace", "path": f"{field}/{name}", "value": WIDE} for name in ("parallelism", "completions")]
    side.kubectl("patch", "jobset", THEIR_NAME, "--type=json", "-p", json.dumps(changes))
    wait_until(lambda: len(running(side.kubectl, SELECTOR)) == WIDE, timeout=60, every=0.1)
    took = uptime() - since
    time.sleep(10)  # to see that nothing comes
    count = len(side.met(WIDE, since))
    side.end()
    return (
        f"By the alpha feature `ElasticJobSet` a JobSet's width can be patched: {WIDE} pods ran {took:.1f} s later, "
        f"and {count} of their programs trained with {WIDE}, since each has the width that was written into its pod."
    )


def ours(training: Training, place: Path) -> Side:
    """Return ours: a plain Job whose width is patched."""
    kubectl = training.kubectl
    put_package(training.volume, "package", {"train.py": OURS})
    me = user_of(kubectl, place)
    kubectl.apply(manifest("rbac", namespace=kubectl.namespace))
    objects = made(me, most=WIDE, LAUNCHER_MAX_RESTARTS="3", LAUNCHER_SHRINK_AFTER="1")

    def begin(width: int) -> None:
        for each in objects:
            if each["kind"] == "Job":
                each["spec"].update(parallelism=width, completions=width, backoffLimit=LIMIT)
        kubectl.apply(*objects)

    def end() -> None:
        kubectl("delete", "job", NAME, "--cascade=foreground", "--timeout=120s", timeout=150)

    return Side(
        who="ours", kubectl=kubectl, notes=training.volume.path / "notes", begin=begin,
        resize=lambda width: wide(kubectl, width), end=end,
    )  # fmt: skip


def theirs(training: Training) -> Side:
    """Return theirs: a JobSet that is deleted and made anew at another width."""
    kubectl = training.kubectl
    training.volume.path.chmod(0o777)
    kubectl.apply(CLAIM)

    def begin(width: int) -> None:
        kubectl("create", "--filename", "-", stdin=json.dumps(jobset(width)))

    def end() -> None:
        kubectl("delete", "jobset", THEIR_NAME, "--cascade=foreground", "--timeout=120s", timeout=150)

    def resize(width: int) -> None:
        end()
        begin(width)

    notes = training.volume.path / "notes"
    return Side(who="theirs", kubectl=kubectl, notes=notes, begin=begin, resize=resize, end=end)


def jobset(width: int) -> Json:
    """Return a JobSet of one Job, which makes all pods anew where one fails."""
    run = {"fieldRef": {"fieldPath": f"metadata.labels['{RUN}']"}}
    container = {
        "name": "trainer",
        "image": STAND_IN,
        "imagePullPolicy": "Never",
        "command": [PYTHON, "-c", THEIRS],
        "env": [{"name": "WIDTH", "value": str(width)}, {"name": "RUN", "valueFrom": run}],
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "256Mi"}},
        "volumeMounts": [{"name": "volume", "mountPath": "/volume"}],
    }
    pod = {
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": [{"name": "volume", "persistentVolumeClaim": {"claimName": "mfs"}}],
    }
    job = {"parallelism": width, "completions": width, "completionMode": "Indexed", "backoffLimit": 0}
    workers = {"name": "workers", "replicas": 1, "template": {"spec": {**job, "template": {"spec": pod}}}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": THEIR_NAME},
        "spec": {"failurePolicy": {"maxRestarts": LIMIT}, "replicatedJobs": [workers]},
    }


def table(results: Sequence[tuple[str, Found]]) -> str:
    """Return the medians, with the least and the most."""
    rows = ["| from ... | ours, s | of it nobody trained | JobSet 0.12.0, s | of it nobody trained |"]
    rows.append("| --- | ---: | ---: | ---: | ---: |")
    for what, title in ROWS.items():
        cells = []
        for side in SIDES:
            of = [found[what] for who, found in results if who == side and what in found]
            cells += [median([each.seconds for each in of])]
            cells += ["-" if what[0] == "made" else median([each.still for each in of])]
        rows.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(rows)


def median(seconds: Sequence[float]) -> str:
    """Return a median, with the least and the most."""
    if not seconds:
        return "-"
    return f"{statistics.median(seconds):.1f} ({min(seconds):.1f} to {max(seconds):.1f})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
