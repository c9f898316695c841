"""A directory of this machine trains on the real cluster, without a volume and without an image of its own."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.cluster.files import user_of
from tests.cluster.kubectl import Kubectl
from tests.grounds.docker import INIT
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("images")

NOISE = bytes(range(256)) * 64
PROGRAM = """\
import hashlib, os, stat, subprocess
from pathlib import Path

found = sorted(path for path in Path().rglob("*") if path.is_file() and path.name[0] != ".")
runs = [str(path) for path in found if path.stat().st_mode & stat.S_IXUSR]
print(os.environ["RANK"], os.environ["WORLD_SIZE"], *found, "run:", *runs)
print(hashlib.sha256(Path("lib/deep/noise.bin").read_bytes()).hexdigest(), Path("lib/empty").stat().st_size)
"""


def test_a_package_without_a_volume_trains_to_its_end(namespace: Kubectl, tmp_path: Path) -> None:
    """Every file is where it was, may be started as it might, and all is gone with the job."""
    namespace("label", "namespace", namespace.namespace, "pod-security.kubernetes.io/enforce=restricted")
    me = user_of(namespace, tmp_path)
    package = tmp_path / "my-package"
    (package / "lib" / "deep").mkdir(parents=True)
    (package / "train.py").write_text(PROGRAM)
    (package / "lib" / "deep" / "noise.bin").write_bytes(NOISE)
    (package / "lib" / "empty").touch()
    (package / "run.sh").write_text("#!/opt/launcher/bin/python\nexec(open('train.py').read())\n")
    (package / "run.sh").chmod(0o755)
    (package / "link.py").symlink_to("train.py")
    (package / "old.ckpt").write_bytes(NOISE)
    (package / ".paddleignore").write_text("*.ckpt\n")
    said = me(
        "submit", "--follow", "-jobname", "alone", "-runtime", "env", "-parallelism", "2", "-cpu", "100m",
        "-memory", "256Mi", "-entry", "./run.sh", *me.without("volume"), str(package), timeout=150,
    )  # fmt: skip
    assert said.code == 0, said.err
    files = "lib/deep/noise.bin lib/empty link.py run.sh train.py run: run.sh"
    for rank in (0, 1):
        assert f"trainer-{rank} | {rank} 2 {files}\n" in said.out
        assert f"trainer-{rank} | {hashlib.sha256(NOISE).hexdigest()} 0\n" in said.out
    assert namespace.get("job", "alone")["status"]["succeeded"] == 2
    namespace("delete", "job", "alone")
    wait_until(lambda: not packages(namespace), timeout=30, every=0.2)


def packages(namespace: Kubectl) -> list[str]:
    found = (each["metadata"]["name"] for each in namespace.items("configmaps"))
    return [name for name in found if name != "kube-root-ca.crt"]


def test_doctor_tries_an_image_that_has_never_heard_of_the_launcher(
    namespace: Kubectl, box: str, tmp_path: Path
) -> None:
    """Under the restricted standard; an image that is not there is told, and nothing is left."""
    namespace("label", "namespace", namespace.namespace, "pod-security.kubernetes.io/enforce=restricted")
    me = user_of(namespace, tmp_path)
    without = me.without("volume", "image")
    said = me("doctor", "-image", box, *without, LAUNCHER_INIT_IMAGE=INIT, timeout=120)
    assert f"ok    image   {box} can be pulled, and starts: {INIT} brings the launcher into it\n" in said.out
    absent = "127.0.0.1:1/none:1"
    said = me("doctor", "-image", box, *without, LAUNCHER_INIT_IMAGE=absent, timeout=120)
    assert f"FAIL  image   a pod of {box} does not start: the launcher's image cannot be pulled (" in said.out
    assert f"-> is {absent} its name?" in said.out
    wait_until(lambda: not namespace.items("pods"), timeout=60, every=0.2)
