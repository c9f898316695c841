"""docs/start.md as it stands: its configuration, its commands in a shell, by the wheel; in the end there is a model.

With ALL_FRAMEWORKS set also torch and Paddle, as `make frameworks` has it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from launcher.desk.rehearsal import show
from tests.cluster.kubectl import Kubectl
from tests.cluster.test_frameworks import CLAIM, put_library
from tests.cluster.volumes import Volume, shared
from tests.grounds.docker.images import BASE, INIT
from tests.real import install
from tests.real.frameworks import JAX, PADDLE, PASSES, TORCH, Example
from tests.support.manifests import ROOT
from tools import wheel

EXAMPLES = (JAX, *((TORCH, PADDLE) if os.environ.get("ALL_FRAMEWORKS") else ()))
# Who makes the image that brings the launcher is another: tests/compose/test_build_docker.py tries it.
NOT_TYPED = ("tools/build_docker.sh", "docker push")
PAGE = (ROOT / "docs" / "start.md").read_text()
MODELS = {"jax": "weights.npz", "torch": "model.pt", "paddle": "model.pdparams"}
# The framework is on a volume: no image here has one.
PACKAGES = {
    "spec": {
        "volumes": [{"name": "packages", "persistentVolumeClaim": {"claimName": "packages", "readOnly": True}}],
        "containers": [
            {
                "name": "trainer",
                "volumeMounts": [{"name": "packages", "mountPath": "/packages", "readOnly": True}],
            }
        ],
    }
}


def commands(runtime: str) -> list[str]:
    """Return the page's commands, in its order; of those for a framework only this one's."""
    lines = re.findall(r"^    (\S.*)$", re.sub(r"```yaml.*?```", "", PAGE, flags=re.DOTALL), re.MULTILINE)
    others = [line for line in lines if "-runtime" in line and f"-runtime {runtime} " not in line]
    return [line for line in lines if line not in others and not line.startswith(NOT_TYPED)]


def test_every_framework_of_the_page_has_its_command() -> None:
    for runtime in MODELS:
        verbs = [line.split()[:2] for line in commands(runtime)]
        assert verbs == [
            ["pip", "install"], ["kubectl", "apply"], ["paddlectl", "doctor"], ["paddlectl", "submit"],
            ["paddlectl", "logs"], ["paddlectl", "ls"], ["paddlectl", "cp"], ["paddlectl", "delete"],
        ]  # fmt: skip


def configured(home: Path, namespace: Kubectl) -> None:
    """Write the page's configuration with the names of this cluster, and where the frameworks are."""
    found = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found
    whole: dict[str, Any] = yaml.safe_load(found[1])
    (datacenter,) = whole["datacenters"]
    context = yaml.safe_load(namespace.kubeconfig.read_text())["current-context"]
    datacenter.update({"context": context, "namespace": namespace.namespace, "launcher-image": INIT})
    found_at = {"PYTHONPATH": "/packages", "LD_LIBRARY_PATH": "/pfs/here/home/me/lib"}
    datacenter["defaults"] = {"pod": PACKAGES, "env": {**found_at, "OMP_NUM_THREADS": "1"}}
    path = home / ".paddle" / "config"
    path.parent.mkdir(parents=True)
    path.write_text(yaml.safe_dump(whole))


def packages(example: Example, namespace: Kubectl, claimed: Volume) -> None:
    """Put the framework's packages on a volume that pods may read, and what Paddle loads on the user's own."""
    try:
        found = install.packages(example.environment)
    except install.NotHere as error:
        pytest.skip(f"no frameworks: {error}")
    name = f"packages-{namespace.namespace}"
    namespace.apply(shared(namespace.namespace, "packages", found, name), CLAIM % name)
    (claimed.path / "lib").mkdir()
    put_library(claimed.path / "lib")


@pytest.fixture
def shell(namespace: Kubectl, tmp_path: Path) -> dict[str, str]:
    """Return the variables of a stranger's shell: a Python of its own, with nothing of ours but what we need."""
    venv.create(tmp_path / "venv")
    (site,) = (tmp_path / "venv").glob("lib/python3*/site-packages")
    (site / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "kubectl").symlink_to(namespace.program)
    assert wheel.main([str(tmp_path / "wheel")]) == 0
    path = (tmp_path / "venv" / "bin", tools, *os.environ["PATH"].split(":"))
    return {"HOME": str(tmp_path), "PATH": ":".join(map(str, path)), "KUBECONFIG": str(namespace.kubeconfig)}


@pytest.mark.usefixtures("ground", "images")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.folder)
def test_what_the_page_says_trains_a_model(
    namespace: Kubectl, claimed: Volume, shell: dict[str, str], tmp_path: Path, example: Example
) -> None:
    claimed.path.chmod(0o777)
    namespace("label", "namespace", namespace.namespace, "pod-security.kubernetes.io/enforce=restricted")
    packages(example, namespace, claimed)
    configured(tmp_path, namespace)
    (built,) = (tmp_path / "wheel").glob("*.whl")
    offline = (
        f"{sys.executable} -m pip --python {tmp_path}/venv/bin/python install --quiet --no-deps --no-index {built}"
    )
    (tmp_path / "work").mkdir()
    for name in ("examples", "k8s"):
        (tmp_path / "work" / name).symlink_to(ROOT / name)
    said = ""
    try:
        for line in commands(example.runtime):
            typed = line.replace("pip install .", offline).replace("-n train", f"-n {namespace.namespace}")
            typed = re.sub(r"-image \S+", f"-image {BASE}", typed)
            words = ("sh", "-c", typed)
            done = subprocess.run(
                words, env=shell, cwd=tmp_path / "work", capture_output=True, text=True, timeout=240, check=False
            )
            assert done.returncode == 0, typed + done.stderr + done.stdout
            said += done.stdout
    finally:
        namespace("delete", "persistentvolume", f"packages-{namespace.namespace}", "--wait=false")
    for rank in range(2):
        mine = "\n".join(re.findall(rf"^trainer-{rank} \| (.*)$", said, re.MULTILINE))
        assert show.errors(mine)[PASSES - 1] <= example.worst
    model = tmp_path / "work" / "model"
    assert (model / "done").exists()
    assert (model / MODELS[example.runtime]).stat().st_size > 0
    assert (claimed.path / "jobs" / "first" / "output" / "pass-00004" / "done").exists()
