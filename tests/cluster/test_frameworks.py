"""JAX and LightGBM on the cluster: Indexed, `restricted`, without a token; packages are on a read-only volume.

With ALL_FRAMEWORKS set also Paddle and XGBoost, as `make frameworks` has it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from launcher.desk.rehearsal import show
from tests.cluster.cluster import Cluster
from tests.cluster.kubectl import Kubectl, KubectlFailed
from tests.cluster.training import await_state, ended, manifest, pods
from tests.cluster.volumes import Training, shared, training_in
from tests.real import install
from tests.real.frameworks import IN_CI, JAX, LIGHTGBM, NODES, PASSES, Example
from tests.support.manifests import ROOT

pytestmark = pytest.mark.usefixtures("ground", "images")

EXAMPLES = IN_CI if os.environ.get("ALL_FRAMEWORKS") else (JAX, LIGHTGBM)
LIBRARY = "libgomp.so.1"  # LightGBM's, which a small image lacks
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: packages}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: ""
  volumeName: %s
  resources: {requests: {storage: 1Gi}}
"""
MOUNTED = """\
        - name: packages
          mountPath: /packages
          readOnly: true
"""
VOLUME = """\
      - name: packages
        persistentVolumeClaim:
          claimName: packages
          readOnly: true
"""
FOUND = """\
        - name: PYTHONPATH
          value: /packages
        - name: LD_LIBRARY_PATH
          value: /work
        - name: OMP_NUM_THREADS
          value: "1"
"""


@pytest.fixture(scope="module")
def packages() -> Path:
    """Return the directory with the frameworks' packages, of a Python that the image has as well."""
    try:
        return install.packages(install.FRAMEWORKS)
    except install.NotHere as error:
        pytest.skip(f"no frameworks: {error}")


@pytest.fixture(scope="module")
def trainings(
    cluster: Cluster, packages: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Training]]:
    """Both, begun, each in a namespace of its own where the `restricted` standard is enforced."""
    with ExitStack() as stack:
        begun = {}
        for example in EXAMPLES:
            place = tmp_path_factory.mktemp(example.folder)
            training = begun[example.folder] = stack.enter_context(training_in(cluster, place))
            furnish(training.volume.job / "example", example)
            kubectl = training.kubectl
            kubectl("label", "namespace", kubectl.namespace, "pod-security.kubernetes.io/enforce=restricted")
            name = f"packages-{kubectl.namespace}"
            kubectl.apply(shared(kubectl.namespace, "packages", packages, name), CLAIM % name)
            stack.callback(kubectl, "delete", "persistentvolume", name, "--wait=false")
            kubectl.apply(job(example))
        yield begun


def furnish(directory: Path, example: Example) -> None:
    """Put the program there, with what it imports of the launcher, and a library that its framework loads."""
    directory.mkdir()
    shutil.copy(example.program, directory)
    shutil.copytree(ROOT / "launcher", directory / "launcher", ignore=shutil.ignore_patterns("__pycache__"))
    put_library(directory)


def put_library(directory: Path) -> None:
    """Copy the library of this machine, where it has it."""
    if found := next(Path("/usr/lib").glob(f"*-linux-gnu/{LIBRARY}"), None):
        shutil.copy(found, directory / LIBRARY)


def job(example: Example, folder: str = "frameworks") -> str:
    """Return the Job of a folder of k8s/ with this runtime, and the volume with the packages."""
    text = manifest(folder).replace("value: jax", f"value: {example.runtime}")
    for before, added in (
        ("        - name: LAUNCHER_GRACE\n", FOUND),
        ("      containers:\n", VOLUME),
        ("        - name: jobpath\n          mountPath", MOUNTED),
    ):
        assert text.count(before) == 1
        text = text.replace(before, f"{added}{before}")
    return text


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.folder)
def test_a_framework_trains_without_any_right_under_the_restricted_standard(
    trainings: dict[str, Training], example: Example
) -> None:
    kubectl, volume = trainings[example.folder].kubectl, trainings[example.folder].volume
    cannot_ask_the_api(kubectl)
    await_state(kubectl, "Complete", timeout=180)
    found = pods(kubectl)
    assert [ended(each)["exitCode"] for each in found] == [0] * NODES
    assert all(each["spec"]["automountServiceAccountToken"] is False for each in found)
    logs = [show.errors((volume.output / f"node_{rank}" / "train.log").read_text()) for rank in range(NODES)]
    assert logs == [logs[0]] * NODES
    assert list(logs[0]) == list(range(PASSES))
    assert logs[0][PASSES - 1] <= example.worst
    assert sorted(path.parent.name for path in volume.output.glob("pass-*/done")) == [
        f"pass-{number:05}" for number in range(PASSES)
    ]


def cannot_ask_the_api(kubectl: Kubectl) -> None:
    """Hold that the pods' account may not even list pods."""
    with pytest.raises(KubectlFailed, match="no\n"):
        kubectl("auth", "can-i", "list", "pods", f"--as=system:serviceaccount:{kubectl.namespace}:default")
