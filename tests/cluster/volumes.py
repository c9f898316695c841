"""Volumes that all nodes share: directories of this machine, with a job's files and shards in them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.cluster import Cluster
from tests.cluster.kubectl import Kubectl
from tests.cluster.namespaces import own
from tests.support.manifests import ROOT

JOB = "paddle-cluster-job"
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

    def furnish(self, samples: int = 3000) -> None:
        """Put the example's configuration and generated shards there, open to any user."""
        recommendation = self.job / "recommendation"
        recommendation.mkdir(parents=True, exist_ok=True)
        shutil.copy(EXAMPLE / "trainer_config.py", recommendation)
        words = (EXAMPLE / "make_data.py", self.job, "--samples", samples)
        subprocess.run([sys.executable, *map(str, words)], check=True, timeout=60)
        self.job.chmod(0o777)

    def tree(self) -> set[str]:
        """Return the names of all files of the output."""
        return {str(path.relative_to(self.output)) for path in self.output.rglob("*") if path.is_file()}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """A namespace with a volume behind the claim `mfs`."""

    kubectl: Kubectl
    volume: Volume


@contextmanager
def training_in(cluster: Cluster, directory: Path, samples: int = 3000) -> Iterator[Training]:
    """Make a namespace with a volume."""
    with own(cluster.kubectl) as kubectl, claimed_by(kubectl, "mfs", directory, samples=samples) as volume:
        yield Training(kubectl=kubectl, volume=volume)


def room_below(place: Path) -> Path:
    """Make a directory for volumes, with others above it that any pod may pass."""
    room = place / "volumes" / "own"
    room.mkdir(parents=True)
    return room


@contextmanager
def claimed_by(
    kubectl: Kubectl, claim: str, directory: Path, *, name: str = "", samples: int = 3000
) -> Iterator[Volume]:
    """Make a volume with a job's files and shards below a directory, behind a claim of this namespace."""
    for parent in (directory, *directory.parents[:2]):
        parent.chmod(0o755)
    name = name or f"{claim}-{kubectl.namespace}"
    with volume_at(directory / claim) as volume:
        volume.furnish(samples)
        kubectl.apply(shared(kubectl.namespace, claim, volume.path, name))
        yield volume
        kubectl("delete", "job", "--all", "--grace-period=1", "--timeout=60s", timeout=90)
        # Its pods go after it, and write until then.
        kubectl("delete", "pod", "--all", "--grace-period=1", "--timeout=60s", timeout=90)
        kubectl("delete", "persistentvolume", name, "--wait=false")


def shared(namespace: str, claim: str, path: Path, name: str) -> dict[str, Any]:
    """Return a PersistentVolume over a directory of all nodes, for a claim of this namespace."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Ti"},
            "accessModes": ["ReadWriteMany"],
            "hostPath": {"path": str(path)},
            "claimRef": {"namespace": namespace, "name": claim},
            "storageClassName": "",
            "persistentVolumeReclaimPolicy": "Retain",
        },
    }
