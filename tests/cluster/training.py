"""A training on the cluster: its volume, its manifests with the image put in, and what became of its pods."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.kubectl import Kubectl
from tests.support.docker.images import STAND_IN
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
JOB = "paddle-cluster-job"
IMAGE = "your-repo/paddle:mypaddle"
EXAMPLE = ROOT / "examples" / "stand_in"
# Where the seed's hostPath points: its YAML is applied as it stands.
SEEDS_VOLUME = Path("/home/work/mfs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A directory that all nodes share, with a job's files and shards in it."""

    path: Path

    @property
    def job(self) -> Path:
        """The job's own directory."""
        return self.path / JOB

    @property
    def output(self) -> Path:
        """Where logs and models come to be."""
        return self.job / "output"

    def furnish(self, *, shards: int = 3, layout: str = "rank") -> None:
        """Put the example's configuration and generated shards there, open to any user."""
        recommendation = self.job / "recommendation"
        recommendation.mkdir(parents=True, exist_ok=True)
        shutil.copy(EXAMPLE / "trainer_config.py", recommendation)
        words = (EXAMPLE / "make_data.py", self.job, "--shards", shards, "--layout", layout, "--samples", 3000)
        subprocess.run([sys.executable, *map(str, words)], check=True, timeout=60)
        self.job.chmod(0o777)

    def log(self, rank: int, name: str = "train.log") -> str:
        """Return a log's text."""
        return (self.output / f"node_{rank}" / name).read_text()


@contextmanager
def volume_at(path: Path) -> Iterator[Volume]:
    """Make a volume where nothing is, and remove it with the directories that it took."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    assert path in missing, f"{path} is there already, and may be somebody's: move it away"
    path.mkdir(parents=True)
    path.chmod(0o777)
    try:
        yield Volume(path=path)
    finally:
        shutil.rmtree(path)
        for each in missing[1:]:
            each.rmdir()


def manifest(folder: str, *names: str, image: str = STAND_IN, **replaced: str) -> str:
    """Return the YAML of a folder of k8s/, all of it or some files, with only the image's name put in."""
    files = [ROOT / "k8s" / folder / name for name in names] or sorted((ROOT / "k8s" / folder).glob("*.yaml"))
    text = "\n---\n".join(file.read_text() for file in files).replace(IMAGE, image)
    for old, new in replaced.items():
        text, count = re.subn(rf"(\b{old}: ).*", rf"\g<1>{new}", text)
        assert count, f"nothing named {old} in {folder}"
    return text


def shared(kubectl: Kubectl, path: Path) -> dict[str, Any]:
    """Return a PersistentVolume over a directory of all nodes, for the claim `mfs` of this namespace."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"mfs-{kubectl.namespace}"},
        "spec": {
            "capacity": {"storage": "1Ti"},
            "accessModes": ["ReadWriteMany"],
            "hostPath": {"path": str(path)},
            "claimRef": {"namespace": kubectl.namespace, "name": "mfs"},
            "storageClassName": "",
            "persistentVolumeReclaimPolicy": "Retain",
        },
    }


def pods(kubectl: Kubectl, selector: str = f"job-name={JOB}") -> list[dict[str, Any]]:
    """Return the job's pods, in the order of their addresses' text: their ranks."""
    found = kubectl.items("pods", "--selector", selector)
    return sorted(found, key=lambda pod: str(pod["status"].get("podIP", "")))


def state(kubectl: Kubectl, name: str = JOB) -> str:
    """Return Complete, Failed, or nothing for a Job that goes on."""
    conditions = kubectl.get("job", name)["status"].get("conditions", [])
    ends = [
        each["type"] for each in conditions if each["status"] == "True" and each["type"] in ("Complete", "Failed")
    ]
    return ends[0] if ends else ""


def await_state(kubectl: Kubectl, wanted: str, name: str = JOB, timeout: float = 90) -> None:
    """Wait until a Job has ended so."""

    def check() -> None:
        found = state(kubectl, name)
        assert found == wanted, f"job {name} is {found or 'going on'}, not {wanted}"

    wait_until(check, timeout=timeout, every=0.25)


def ended(pod: dict[str, Any]) -> dict[str, Any]:
    """Return how a pod's container ended: its code and message."""
    (status,) = pod["status"]["containerStatuses"]
    found: dict[str, Any] = status["state"].get("terminated", {})
    return found


def told(kubectl: Kubectl, pod: str, name: str) -> list[dict[str, Any]]:
    """Return the events of one name that a pod's launcher told."""
    lines = kubectl("logs", pod).splitlines()
    events = [json.loads(line) for line in lines if line.startswith('{"timestamp"')]
    return [event for event in events if event["event"] == name]
