"""Files to a volume: `paddlectl cp` beside `kubectl cp`, in one run on the real cluster.

Ours is the whole command, with the making and removing of its pod; kubectl's goes into a pod that runs already.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench.lives import Ground
from bench.rows import Measure, Row, Values, in_turns, rows
from tests.cluster.cluster import chosen
from tests.cluster.files import HOME, user_of
from tests.cluster.kubectl import Kubectl
from tests.cluster.namespaces import own
from tests.cluster.volumes import claimed_by
from tests.support.desks import User
from tests.support.docker import image_tar
from tests.support.docker.images import STAND_IN

FILES, SMALL = 10_000, 1024  # bytes each
LARGE = 2 << 30
ROUNDS = 3
KUBECTL = "kubectl cp"
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


def pfs(ground: Ground) -> tuple[Row, ...]:
    """Return how long copies take."""
    size = LARGE // 8 if ground.quick else LARGE
    with desk(ground) as at:
        many(at.here / "many")
        with (at.here / "large").open("wb") as file:
            for _ in range(size >> 20):
                file.write(os.urandom(1 << 20))
        small = f"cp of {FILES:,} files of {SMALL} B"
        large = f"cp of {size >> 20:,} MiB in one file"
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
    kubectl = (str(at.kubectl.program), "--kubeconfig", str(at.kubectl.kubeconfig), "-n", at.kubectl.namespace)
    tries: list[bool] = []
    measures: dict[str, Measure] = {
        "ours": lambda: _timed(at, at.me.words("-q", *ours), []),
        KUBECTL: lambda: _timed(at, (*kubectl, *peers), tries),
    }
    figures = in_turns(measures, ground.rounds(ROUNDS, quick=1), ground.progress)
    # At least twice as quick on many small files: ours may take half of what kubectl takes.
    most = figures[KUBECTL]["s"].median / 2 if goal else None
    failed = f"{tries.count(False)} of {len(tries)} ended with an error, and were made again"
    row = Row(what=what, unit="s", ours=None, against="", goal=most)
    (found,) = rows(row, "s", figures, (KUBECTL,))
    return (found if all(tries) else replace(found, against=f"{KUBECTL} ({failed})"),)


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


def many(top: Path) -> None:
    """Make many small files, a hundred in a directory."""
    for number in range(FILES):
        path = top / f"{number // 100:03d}" / f"{number:05d}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(SMALL))


@contextmanager
def desk(ground: Ground) -> Iterator[Desk]:
    """Have a cluster, a volume, a user, and a pod for kubectl."""
    tell: Callable[[str], None] = ground.progress
    ground.directory.chmod(0o755)
    shared = ground.directory / "shared"
    shared.mkdir()
    with chosen(os.environ, tell) as cluster:
        cluster.load_image(image_tar())
        with own(cluster.kubectl) as kubectl, claimed_by(kubectl, "mfs", shared) as volume:
            volume.path.chmod(0o777)
            place = ground.directory / "desk"
            place.mkdir()
            me = user_of(kubectl, place)
            kubectl.apply(POD)
            kubectl("wait", "--for=condition=Ready", "pod/copying", "--timeout=90s", timeout=100)
            here = ground.directory / "here"
            here.mkdir()
            yield Desk(me=me, kubectl=kubectl, volume=volume.path, here=here)
            kubectl("delete", "pod", "--all", "--grace-period=0", "--force", timeout=60)
