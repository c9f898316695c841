"""Which cluster: one that the user names, else `kind` where that is on PATH, else a ground of our own."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cluster.footprint import footprint
from tests.cluster.kubectl import Kubectl
from tests.grounds.cluster import Broken, Ground, NoGround, packages
from tests.grounds.cluster.build import KUBE, built

NAMED = "LAUNCHER_TEST_KUBECONFIG"
LOADER = "LAUNCHER_TEST_LOAD"
KIND = "paddle-launcher-test"
KIND_CONFIG = """\
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes: [{role: control-plane}, {role: worker}, {role: worker}, {role: worker}]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A cluster to test on; `grounds` holds the ground where it is one, whose nodes can be stopped."""

    kubectl: Kubectl
    load_image: Callable[[Path], None]
    grounds: tuple[Ground, ...] = ()


def chosen(environ: Mapping[str, str], tell: Callable[[str], None] = print) -> AbstractContextManager[Cluster]:
    """Return the cluster that the environment asks for, to be entered."""
    if environ.get(NAMED):
        return named(Path(environ[NAMED]), environ.get(LOADER, ""), tell)
    return of_kind() if shutil.which("kind") else of_our_own(tell)


@contextmanager
def named(kubeconfig: Path, loader: str, tell: Callable[[str], None]) -> Iterator[Cluster]:
    """Use the user's cluster, and nothing of it but namespaces that are made here."""
    if not kubeconfig.is_file():
        raise NoGround(f"{NAMED} names {kubeconfig}, and no such file is there")

    def load(archive: Path) -> None:
        if not loader:
            raise NoGround(
                f"{archive.name} cannot be put into the cluster that {NAMED} names: set {LOADER} to the command that "
                "loads an image's archive into it (`minikube image load`, `kind load image-archive`)"
            )
        words = (*shlex.split(loader), str(archive))
        done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            raise NoGround(f"`{shlex.join(words)}` failed: {done.stderr[-2000:]}")

    yield Cluster(kubectl=Kubectl(program=program(tell), kubeconfig=kubeconfig), load_image=load)


@contextmanager
def of_kind() -> Iterator[Cluster]:
    """Make a cluster with kind, and delete it."""
    with TemporaryDirectory(prefix="launcher-kind-") as place:
        kubeconfig, config = Path(place, "kubeconfig"), Path(place, "kind.yaml")
        config.write_text(KIND_CONFIG)
        try:
            kind("create", "cluster", "--kubeconfig", kubeconfig, "--config", config, "--wait", "180s")
            kubectl = Kubectl(program=program(print), kubeconfig=kubeconfig)
            yield Cluster(kubectl=kubectl, load_image=lambda archive: kind("load", "image-archive", archive))
        finally:
            kind("delete", "cluster")


@contextmanager
def of_our_own(tell: Callable[[str], None]) -> Iterator[Cluster]:
    """Start a ground of three nodes, and see that nothing of it is left in the end."""
    packages.check()
    before = footprint()
    with Ground.start(nodes=3, tell=tell) as ground:
        yield Cluster(kubectl=ground.kubectl, load_image=ground.load_image, grounds=(ground,))
    if left := footprint() - before:
        raise Broken(f"the ground left behind: {sorted(left)}")


def program(tell: Callable[[str], None]) -> Path:
    """Return a kubectl: the one on PATH, else ours."""
    found = shutil.which("kubectl")
    return Path(found) if found else built(KUBE, tell) / "kubectl"


def kind(*words: str | Path) -> None:
    """Run kind on our cluster."""
    command = ("kind", *map(str, words), "--name", KIND)
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise NoGround(f"`{' '.join(command)}` failed; is Docker running?\n{done.stderr[-2000:]}")
