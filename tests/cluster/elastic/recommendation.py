"""The recommendation example on Paddle's own pservers while the width changes: these apart, or in the first pods."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from launcher.job import PaddleJob, Volume
from tests.cluster import volumes
from tests.cluster.cluster import Cluster
from tests.cluster.elastic.queues import URGENT, a_queue, put_in_queue, urgent
from tests.cluster.kubectl import Kubectl
from tests.cluster.real import has_passed
from tests.cluster.training import await_state, manifest, pods
from tests.cluster.volumes import JOB, room_below, training_in
from tests.grounds.cluster import Ground
from tests.grounds.docker import PADDLE
from tests.support.recommendation import errors, furnish_split
from tests.support.waiting import wait_until
from tests.support.whole_lines import whole_lines

Json = dict[str, Any]

PASSES = 120  # of 0.7 s
SHARDS = 6
LIMIT = 300.0
INDEX = "batch.kubernetes.io/job-completion-index"
HOST = "kubernetes.io/hostname"
NOTICE = 30  # seconds, of a spot node
MOUNTED = "/volume"
WIDTH: Json = {"members": "2:5", "env": {"LAUNCHER_SETTLE": "5", "LAUNCHER_SHRINK_AFTER": "5"}}
CPU = 50  # thousandths of a processor
SMALL: Json = {"cpu_nums": f"{CPU}m", "pscpu": f"{CPU}m"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Where the two pservers are, in words, what says so of the job, and its Jobs: that of the trainers first."""

    where: str
    said: Json
    jobs: tuple[str, ...]
    queued: bool = False  # five trainers, of which the queue admits three

    @property
    def job(self) -> str:
        """The Job whose width changes."""
        return self.jobs[0]


APART = Kind(where="2 pservers apart", said={"pservers": 2}, jobs=(f"{JOB}-trainer", f"{JOB}-pserver"))
QUEUED = replace(APART, queued=True)
SPARED = replace(APART, said={"pservers": 2, "members": "2:2", "spares": 1})
TOGETHER = Kind(where="2 pservers in the first pods", said={"together": True}, jobs=(JOB,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """A training of the example on the cluster, begun with three trainers."""

    kubectl: Kubectl
    volume: volumes.Volume
    kind: Kind
    ground: Ground

    def events(self, name: str) -> list[Json]:
        """Return what its leaders noted, of one kind."""
        path = self.volume.output / "events.jsonl"
        found = [json.loads(line) for line in whole_lines(path)] if path.exists() else []
        return [each for each in found if each["event"] == name]

    @property
    def widths(self) -> list[int]:
        """How many trainers each start had."""
        starts = self.events("generation_made")
        return [sum(who["role"] != "pserver" for who in each["members"]) for each in starts]

    def await_width(self, width: int, more: int = 2) -> None:
        """Wait until so many train, and have completed some passes."""
        wait_until(lambda: self.widths[-1:] == [width], timeout=LIMIT, every=0.1)
        resume = self.events("generation_made")[-1]["resume"]
        first = 0 if resume is None else resume + 1
        wait_until(lambda: has_passed(self.volume, first + more - 1), timeout=LIMIT, every=0.1)

    def scale(self, width: int, **more: object) -> None:
        change = {"spec": {"parallelism": width, "completions": width, **more}}
        self.kubectl("patch", "job", self.kind.job, "--type=merge", "-p", json.dumps(change))
        self.await_width(width)

    def nodes(self, job: str) -> dict[str, str]:
        """Return on which node each index of a Job is."""
        found = pods(self.kubectl, f"job-name={job}")
        return {pod["metadata"]["labels"][INDEX]: pod["spec"]["nodeName"] for pod in found}


class Queued(Protocol):
    """A training in the queue, whichever it is."""

    @property
    def kubectl(self) -> Kubectl: ...

    def await_width(self, width: int) -> None: ...


@contextmanager
def rated(cluster: Cluster, ground: Ground, kind: Kind) -> Iterator[Rated]:
    """Begin a training."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="elastic-")))
        own = stack.enter_context(training_in(cluster, room_below(place)))
        furnish_split(own.volume.job, SHARDS)
        if kind.queued:
            stack.enter_context(a_queue(own.kubectl, cpu=CPU))
        own.kubectl.apply(manifest("separated", "claim.yaml"), *_made(kind))
        yield Rated(kubectl=own.kubectl, volume=own.volume, kind=kind, ground=ground)


def _made(kind: Kind) -> list[Json]:
    """Return what the desk makes of it, with three pods in place of the most.

    They are spread, and pservers apart are beside the first one: so a node can be lost that has one trainer alone.
    """
    job = PaddleJob(
        job_name=JOB,
        runtime_image=PADDLE,
        entry_point=f"python train.py --passes={PASSES}",
        trainer_package_path="recommendation",
        job_path=MOUNTED,
        volumes=(Volume(mount_path=MOUNTED, claim="mfs"),),
        **{**WIDTH, **SMALL, **kind.said},
    )
    made = [*job.manifests()]
    jobs = {each["metadata"]["name"]: each for each in made if each["kind"] == "Job"}
    trainers, *apart = (jobs[name] for name in kind.jobs)
    if kind.queued:
        put_in_queue(trainers, least=2)
    else:
        trainers["spec"].update(parallelism=3, completions=3)
    own = {"matchLabels": {"job-name": kind.job}}
    spread = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": own}
    trainers["spec"]["template"]["spec"]["topologySpreadConstraints"] = [spread]
    for each in apart:
        first = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"job-name": kind.job, INDEX: "0"}}}
        affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [first]}}
        each["spec"]["template"]["spec"]["affinity"] = affinity
    return made


def patched(gang: Rated) -> str:
    gang.await_width(3)
    for width in (5, 2, 3):
        gang.scale(width)
    return "patched"


def first_deleted(gang: Rated) -> str:
    """Take the first pod away, which has a pserver and leads: the pod of the next slot has both then."""
    gang.await_width(3)
    gang.kubectl("delete", "pod", "--selector", f"job-name={JOB},{INDEX}=0", "--wait=false")
    gang.await_width(2)
    gang.await_width(3)
    return "the first pod is deleted"


def suspended(gang: Rated) -> str:
    """Suspend every Job of it, and resume with two trainers."""
    gang.await_width(3)
    _suspend(gang, gang.kind.jobs, yes=True)
    wait_until(lambda: not gang.kubectl.items("pods"), timeout=120, every=0.5)
    _suspend(gang, gang.kind.jobs[1:], yes=False)
    gang.scale(2, suspend=False)
    return "suspended at 3 pods, resumed with 2"


def _suspend(gang: Rated, jobs: Iterable[str], *, yes: bool) -> None:
    for job in jobs:
        gang.kubectl("patch", "job", job, "--type=merge", "-p", json.dumps({"spec": {"suspend": yes}}))


def drained(gang: Rated) -> str:
    """Drain the node of a trainer that does not lead; the pods of pservers stay."""
    gang.await_width(3)
    node = gang.nodes(gang.kind.job)["1"]
    words = ("--ignore-daemonsets", "--delete-emptydir-data", f"--grace-period={NOTICE}", "--timeout=120s")
    gang.kubectl("drain", node, f"--pod-selector=job-name={gang.kind.job}", *words, timeout=150)
    gang.kubectl("uncordon", node)
    gang.await_width(3)
    return f"a node is drained, with {NOTICE} s"


def lost(gang: Rated) -> str:
    gang.await_width(3)
    with without_power(gang):
        gang.await_width(2, more=10)
    gang.await_width(3)
    return "a node loses power, and is there again later"


def spared(gang: Rated) -> str:
    gang.await_width(2)
    with without_power(gang):
        wait_until(lambda: gang.widths == [2, 2], timeout=LIMIT, every=0.1)
        gang.await_width(2, more=10)
    return "a node loses power, with a spare"


@contextmanager
def without_power(gang: Rated) -> Iterator[None]:
    """Take the power from the node of the second trainer, which does not lead and is alone there."""
    node = gang.nodes(gang.kind.job)["1"]
    every = [each for job in gang.kind.jobs for each in gang.nodes(job).values()]
    assert every.count(node) == 1, f"{node} is to have one pod of this gang: {every}"
    struck = gang.ground.node(int(node.rpartition("-")[2]))
    struck.stop()
    try:
        yield
    finally:
        struck.start()


def preempted(gang: Queued) -> str:
    """Let work of a higher priority take a third of the room, and leave: nobody widens what was admitted in part."""
    gang.await_width(3)
    gang.kubectl.apply(urgent(cpu=CPU))
    gang.await_width(2)
    gang.kubectl("delete", "job", URGENT)
    return "in Kueue, 5 pods wanted and 3 admitted: preempted"


def undisturbed(gang: Rated) -> str:
    gang.await_width(3)
    return "undisturbed"


def came_to(gang: Rated, what: str) -> str:
    """Wait for the end, and return the line of the table."""
    await_state(gang.kubectl, "Complete", gang.kind.job, timeout=LIMIT)
    made, reported = gang.events("generation_made"), gang.events("progress")
    again, still = [], []
    for before, after in itertools.pairwise(made):
        mine, theirs = (
            [each for each in reported if each["generation"] == of["generation"]] for of in (before, after)
        )
        kept = -1 if after["resume"] is None else after["resume"]
        again.append(max((each["step"] for each in mine if (each["pass"] or 0) > kept), default=0))
        still.append((_at(theirs[0]) - _at(mine[-1])).total_seconds())
    error = errors((gang.volume.output / "node_0" / "train.log").read_text())[PASSES - 1]
    cells = (
        f"recommendation, {gang.kind.where}: {what}",
        " -> ".join(map(str, gang.widths)),
        ", ".join(map(str, again)) or "-",
        ", ".join(f"{each:.1f}" for each in still) or "-",
        made[-1]["restarts"],
        f"{error:.4f}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def _at(event: Json) -> datetime:
    return datetime.fromisoformat(event["at"])


Story = tuple[Kind, Callable[[Rated], str]]
STORIES: dict[str, Story] = {
    "apart": (APART, patched),
    "apart-suspended": (APART, suspended),
    "apart-drained": (APART, drained),
    "apart-lost": (APART, lost),
    "apart-queued": (QUEUED, preempted),
    "apart-spared": (SPARED, spared),
    "apart-undisturbed": (APART, undisturbed),
    "together": (TOGETHER, patched),
    "together-first": (TOGETHER, first_deleted),
    "together-lost": (TOGETHER, lost),
    "together-undisturbed": (TOGETHER, undisturbed),
}


def line(cluster: Cluster, ground: Ground, name: str) -> str:
    """Play one of the stories."""
    kind, play = STORIES[name]
    with rated(cluster, ground, kind) as gang:
        return came_to(gang, play(gang))
