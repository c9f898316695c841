"""Files to a volume: `paddlectl cp` beside `kubectl cp`, in one run on the real cluster.

Ours is the whole command, with the making and removing of its pod; kubectl's goes into a pod that runs already.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.lives import Ground
from bench.rows import Measure, Row, Values, in_turns, rows
from tests.cluster.cluster import Cluster, chosen
from tests.cluster.files import HOME, user_of
from tests.cluster.kubectl import Kubectl
from tests.cluster.namespaces import own
from tests.cluster.volumes import claimed_by
from tests.grounds.docker import image_tar
from tests.grounds.docker.images import STAND_IN
from tests.support.desks import User

FILES, SMALL = 10_000, 1024  # bytes each
MEMORY = Path("/dev/shm")  # noqa: S108  # so that the tools are measured, and not this machine's disk
QUIET = subprocess.DEVNULL
LARGE = 384 << 20  # what a pod writes in memory counts as its own, which is limited to 512 MiB
ROUNDS = 3
KUBECTL, WITH_POD = "kubectl cp", "kubectl create, wait, cp, delete"
TRIES = 10  # kubectl ends some copies from a pod with "unexpected EOF", with or without its --retries
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "copying"},
    "spec": {
        "terminationGracePeriodSeconds": 0,
        "volumes": [{"name": "volume", "persistentVolumeClaim": {"claimName": "mfs"}}],
        "containers": [
            {
                "name": "copying",
                "image": STAND_IN,
                "command": ["sleep", "86400"],
                "volumeMounts": [{"name": "volume", "mountPath": "/volume"}],
            }
        ],
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A user, kubectl, and the volume as this machine has it."""

    me: User
    kubectl: Kubectl
    volume: Path
    here: Path

    def kubectls(self, *words: str) -> tuple[str, ...]:
        """Return a command of kubectl."""
        whose = ("--kubeconfig", str(self.kubectl.kubeconfig), "-n", self.kubectl.namespace)
        return (str(self.kubectl.program), *whose, *words)


def pfs(ground: Ground) -> tuple[Row, ...]:
    """Return how long copies take."""
    size = LARGE // 8 if ground.quick else LARGE
    small = f"cp of {FILES:,} files of {SMALL} B"
    large = f"cp of {size >> 20:,} MiB in one file"
    with clusters(ground) as cluster, desk(ground, cluster) as at:
        many(at.here / "many", FILES)
        with (at.here / "large").open("wb") as file:
            for _ in range(size >> 20):
                file.write(os.urandom(1 << 20))
        return (
            *_compared(ground, f"{small}, to the volume", at, "many", up=True, goal=True),
            *_compared(ground, f"{small}, from the volume", at, "many", up=False, goal=True),
            *_compared(ground, f"{large}, to the volume", at, "large", up=True),
            *_compared(ground, f"{large}, from the volume", at, "large", up=False),
        )


def _compared(ground: Ground, what: str, at: Desk, name: str, *, up: bool, goal: bool = False) -> tuple[Row, ...]:
    ours = ("cp", name, f"{HOME}/ours/") if up else ("cp", f"{HOME}/there/{name}", "back/")
    peers = (
        ("cp", name, f"copying:/volume/peer/{name}")
        if up
        else ("cp", f"copying:/volume/there/{name}", f"back/{name}")
    )
    if not up:
        source, there = at.here / name, at.volume / "there" / name
        there.parent.mkdir(exist_ok=True)
        shutil.copytree(source, there) if source.is_dir() else shutil.copy(source, there)
        subprocess.run(("chmod", "-R", "a+rX", str(there.parent)), check=True)
    tries: list[bool] = []
    copied: dict[str, float] = {}  # by kubectl, in this turn

    def copy() -> Values:
        copied.update(_timed(at, at.kubectls(*peers), tries))
        return dict(copied)

    measures: dict[str, Measure] = {
        "ours": lambda: _timed(at, at.me.words("-q", *ours), []),
        KUBECTL: copy,
        WITH_POD: lambda: {"s": copied["s"] + _a_pod(at)},
    }
    figures = in_turns(measures, ground.rounds(ROUNDS, quick=1), ground.progress)
    # At least twice as quick on many small files: ours may take half of what kubectl takes.
    most = figures[KUBECTL]["s"].median / 2 if goal else None
    failed = f"{tries.count(False)} of {len(tries)} ended with an error, and were made again"
    row = Row(what=what, unit="s", ours=None, against="", goal=most)
    alone, whole = rows(row, "s", figures, (KUBECTL, WITH_POD))
    return (alone if all(tries) else replace(alone, against=f"{KUBECTL} ({failed})"), replace(whole, goal=None))


def _a_pod(at: Desk) -> float:
    """Make a pod with the volume, as who has none for kubectl cp must, remove it, and return how long both took."""
    pod = {**POD, "metadata": {"name": "for-one-copy"}}
    begun = time.monotonic()
    subprocess.run(at.kubectls("create", "-f", "-"), input=json.dumps(pod), text=True, check=True, stdout=QUIET)
    wait = ("wait", "--for=condition=Ready", "pod/for-one-copy", "--timeout=90s")
    subprocess.run(at.kubectls(*wait), check=True, stdout=QUIET)
    subprocess.run(at.kubectls("delete", "pod", "for-one-copy", "--wait=false"), check=True, stdout=QUIET)
    seconds = time.monotonic() - begun
    subprocess.run(at.kubectls("wait", "--for=delete", "pod/for-one-copy", "--timeout=90s"), check=True, stdout=QUIET)
    return seconds


def _timed(at: Desk, words: Sequence[str], tries: list[bool]) -> Values:
    """Copy to where nothing is, and return the seconds of the first copy that is whole; note how each try ended."""
    for _ in range(TRIES):
        for place in (places := (at.volume / "ours", at.volume / "peer", at.here / "back")):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            place.chmod(0o777)
        os.sync()
        begun = time.monotonic()
        done = subprocess.run(words, cwd=at.here, env=at.me.environ(), check=False, capture_output=True, text=True)
        seconds = time.monotonic() - begun
        came = sum(each.is_file() for place in places for each in place.rglob("*"))
        tries.append(done.returncode == 0 and came in (1, FILES))
        if tries[-1]:
            return {"s": seconds}
    raise RuntimeError(f"{' '.join(words[-3:])} failed {TRIES} times: {done.stderr[-300:]}")


def many(top: Path, files: int) -> None:
    """Make many small files, a hundred in a directory."""
    for number in range(files):
        path = top / f"{number // 100:03d}" / f"{number:05d}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(SMALL))


@contextmanager
def clusters(ground: Ground) -> Iterator[Cluster]:
    """Have a cluster that has the image."""
    tell: Callable[[str], None] = ground.progress
    with chosen(os.environ, tell) as cluster:
        cluster.load_image(image_tar())
        yield cluster


@contextmanager
def desk(ground: Ground, cluster: Cluster) -> Iterator[Desk]:
    """Have a user, and a volume in memory with a pod for kubectl."""
    with ExitStack() as stack:
        memory = MEMORY if MEMORY.is_dir() else ground.directory
        top = Path(stack.enter_context(TemporaryDirectory(dir=memory)))
        shared = top / "volumes" / "shared"  # the pods' user must reach it, and what is above
        for each in (top / "desk", top / "here", shared):
            each.mkdir(parents=True)
        kubectl = stack.enter_context(own(cluster.kubectl))
        volume = stack.enter_context(claimed_by(kubectl, "mfs", shared))
        volume.path.chmod(0o777)
        me = user_of(kubectl, top / "desk")
        kubectl.apply(POD)
        kubectl("wait", "--for=condition=Ready", "pod/copying", "--timeout=90s", timeout=100)
        yield Desk(me=me, kubectl=kubectl, volume=volume.path, here=top / "here")
        kubectl("delete", "pod", "--all", "--grace-period=0", "--force", timeout=60)
