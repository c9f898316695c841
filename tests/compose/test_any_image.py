"""The launcher brought into images that have never heard of it: another C library, or none; no Python; no shell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.grounds.docker import BASE, INIT, Docker, NotHere, need
from tests.grounds.docker.base import base_tar, old_tar
from tests.support import brought
from tests.support.waiting import wait_until

# A first run makes the base and the images.
pytestmark = pytest.mark.timeout(900)

NOTHING, MUSL = "any:nothing", "any:musl"
# The oldest Debian to be had, and with `make images` one that is newer than the launcher's base, without a Python.
NEW = {"any:trixie": lambda: base_tar("trixie", ())} if "ALL_IMAGES" in os.environ else {}
DEBIANS: dict[str, Callable[[], Path]] = {"any:bullseye": old_tar, **NEW}
# And where this machine has one, Python 3.8 on the launcher's base: the oldest that `launcher.here` runs on.
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
FOUND = sorted(PYENV.glob("3.8.*"))[-1:] if "ALL_IMAGES" in os.environ else []
OLD_PYTHON = dict(zip(("any:python3.8",), FOUND, strict=False))
WITH_PYTHON = ("any:bullseye", BASE, *OLD_PYTHON)
WITH_A_SHELL = (MUSL, *DEBIANS, BASE, *OLD_PYTHON)
IMAGES = (NOTHING, *WITH_A_SHELL)
# What Kubernetes' standard `restricted` asks, a root file system that is read-only, and a user whom nobody knows.
CAREFUL = (
    *("--read-only", "--user", "1234:1234", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
    *("--network", "none"),
)
# What an image may have set for its own programs; /programs has a library there that ends whatever loads it.
ODD = {
    "LD_PRELOAD": "/programs/libbroken.so",
    "LD_LIBRARY_PATH": "/programs",
    "PYTHONHOME": "/usr/local",
    "PYTHONPATH": "/programs",
    "GLIBC_TUNABLES": "glibc.malloc.check=3",
    "LC_ALL": "en_US.UTF-8",
    "OPENSSL_CONF": "/programs/alone",
}
JOB = {"LAUNCHER_PEERS": "self", "LAUNCHER_RUNTIME": "env", "JOB_NAME": "job", "LAUNCHER_WORKDIR": "/work"}
START = "/launcher/bin/start_paddle"
ALONE = "/programs/alone"
WITH_OLD_PYTHON = f"""\
FROM {BASE}
COPY bin /opt/python/bin
COPY lib /opt/python/lib
RUN ln -s /opt/python/lib/libpython3.8.so.1.0 /usr/lib/ && ln -sf /opt/python/bin/python3.8 /usr/bin/python3
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Give a directory that every user may enter."""
    top = Path(tempfile.mkdtemp(prefix="any-image-"))
    top.chmod(0o755)
    yield top
    shutil.rmtree(top)


@pytest.fixture(scope="module")
def launcher(docker: Docker, place: Path) -> Path:
    """Give a volume as the init container leaves it, which is as careful as the containers after it."""
    volume = place / "launcher"
    volume.mkdir()
    volume.chmod(0o777)  # as an emptyDir
    done = docker.run("docker", "run", "--rm", *CAREFUL, "--volume", f"{volume}:/launcher", INIT)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("launcher.inject: the launcher is in /launcher, ")
    return volume


@pytest.fixture(scope="module")
def programs(place: Path) -> Path:
    """Give a volume with programs that need nothing of an image, one for musl alone, and a broken library."""
    volume = place / "programs"
    volume.mkdir()
    need(musl_gcc="musl-tools")
    brought.make_alone(volume / "alone")
    brought.make_program(brought.CHILDREN / "alone.c", volume / "musl", compiler="musl-gcc")
    brought.make_broken_library(volume / "libbroken.so")
    return volume


@pytest.fixture(scope="module", autouse=True)
def images(docker: Docker, place: Path) -> None:
    """Make the images: of nothing but a preloaded library, of busybox and musl, and the Debians."""
    try:
        need(busybox="busybox-static", musl_gcc="musl-tools")
        tars = {image: tar() for image, tar in DEBIANS.items()}
    except NotHere as error:
        pytest.skip(f"no images here: {error}")
    for image, tar in tars.items():
        docker.says("import", str(tar), image, timeout=300)
    for image, python in OLD_PYTHON.items():
        docker.build(image, python, dockerfile=WITH_OLD_PYTHON)
    for name, files in (
        (NOTHING, {}),
        (MUSL, {"bin/sh": "busybox", "lib/ld-musl-x86_64.so.1": "ld-musl-x86_64.so.1"}),
    ):
        root = place / name.partition(":")[2]
        (root / "etc").mkdir(parents=True)
        (root / "etc" / "ld.so.preload").write_text("/programs/libbroken.so\n")
        for path, source in files.items():
            (root / path).parent.mkdir(exist_ok=True)
            shutil.copy(shutil.which(source) or f"/lib/{source}", root / path)
        docker.build(name, root, dockerfile="FROM scratch\nCOPY . /\n")


class Pod:
    """A container as careful as a restricted pod, with what the init container left, read-only."""

    def __init__(self, docker: Docker, launcher: Path, programs: Path) -> None:
        self.docker = docker
        self._volumes = (
            *("--volume", f"{launcher}:/launcher:ro", "--volume", f"{programs}:/programs:ro"),
            *("--tmpfs", "/work:uid=1234,mode=0700"),
        )

    def run(self, image: str, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return self.docker.run("docker", "run", "--rm", *self.words(image, *words, **environ))

    def words(self, image: str, *words: str, **environ: str) -> tuple[str, ...]:
        given = [word for name, value in environ.items() for word in ("--env", f"{name}={value}")]
        return (*CAREFUL, *self._volumes, *given, "--hostname", "pod", image, *words)


@pytest.fixture(scope="module")
def pod(docker: Docker, launcher: Path, programs: Path) -> Pod:
    """Give what runs containers."""
    return Pod(docker, launcher, programs)


def told(done: subprocess.CompletedProcess[str], event: str) -> list[str]:
    lines = (json.loads(line) for line in done.stderr.splitlines() if line.startswith("{"))
    return [each for each in lines if each.get("event") == event]


@pytest.mark.parametrize("image", IMAGES)
def test_a_programs_environment_is_what_it_is_without_the_launcher(pod: Pod, image: str) -> None:
    given = {**ODD, "LAUNCHER_PEERS": "self"}
    plain = pod.run(image, ALONE, "environment", "3", **given)
    ours = pod.run(image, START, "--", ALONE, "environment", "3", **given)
    assert (ours.returncode, ours.stderr) == (3, "")
    assert "LD_PRELOAD=" in plain.stdout
    assert sorted(ours.stdout.split("\0")) == sorted(
        plain.stdout.split("\0")
    )  # Docker has an order of its own each time


@pytest.mark.parametrize("image", IMAGES)
def test_a_job_restarts_in_place_and_ends_with_its_programs_code(pod: Pod, image: str) -> None:
    done = pod.run(image, START, "--", ALONE, "die", **ODD, **JOB, LAUNCHER_MAX_RESTARTS="1")
    assert done.returncode == 137, done.stderr
    assert len(told(done, "child_started")) == 2
    well = pod.run(image, START, "--", ALONE, **ODD, **JOB)
    assert well.returncode == 0, well.stderr


@pytest.mark.parametrize("image", WITH_A_SHELL)
def test_it_does_the_same_below_a_shell(pod: Pod, image: str) -> None:
    env = {**JOB, "LAUNCHER_MAX_RESTARTS": "0", "ODD_PRELOAD": ODD["LD_PRELOAD"]}
    script = f"LD_PRELOAD=$ODD_PRELOAD {START} -- {ALONE} environment 4; exit $?"
    done = pod.run(image, "/bin/sh", "-c", script, **env)
    assert done.returncode == 4, done.stderr
    assert f"LD_PRELOAD={ODD['LD_PRELOAD']}" in done.stdout.split("\0")


def test_a_program_for_musl_runs_beside_it(pod: Pod) -> None:
    done = pod.run(MUSL, START, "--", "/programs/musl", "5", **JOB, LAUNCHER_MAX_RESTARTS="0")
    assert done.returncode == 5, done.stderr


@pytest.mark.parametrize("image", IMAGES)
def test_term_reaches_the_program_and_is_the_verdict(pod: Pod, image: str) -> None:
    container = pod.docker.says("run", "--detach", *pod.words(image, START, "--", ALONE, "wait", **ODD, **JOB))
    try:
        wait_until(lambda: "waits" in pod.docker.run("docker", "logs", container).stdout, timeout=30)
        pod.docker.says("kill", "--signal", "TERM", container)
        assert pod.docker.says("wait", container) == "143"
    finally:
        pod.docker.says("rm", "--force", container)


@pytest.mark.parametrize("image", WITH_PYTHON)
def test_a_program_of_the_images_own_python_asks_the_launcher(pod: Pod, image: str) -> None:
    asks = "from launcher import here; here.barrier('all'); print('Python', *version, here.rank())"
    words = ("python3", "-c", f"import sys; version = sys.version_info[:2]; {asks}")
    done = pod.run(image, START, "--", *words, **JOB, LAUNCHER_IMPORTABLE="on")
    assert done.returncode == 0, done.stderr
    expected = {"any:bullseye": "3 9", BASE: "3 11"}.get(image, "3 8")
    assert f"Python {expected} 0\n" in done.stdout


def test_where_there_is_no_python_its_own_runs_a_program(pod: Pod) -> None:
    script = "import os, ssl, sqlite3"
    done = pod.run(NOTHING, START, "--", "/launcher/bin/python", "-c", script, **JOB, LAUNCHER_MAX_RESTARTS="0")
    assert done.returncode == 1
    assert "No module named 'sqlite3'" in done.stderr + done.stdout


def test_the_init_image_serves_files_as_the_launchers_image_does(docker: Docker) -> None:
    agent = ("/opt/launcher/bin/python", "-I", "-m", "launcher.files")
    done = docker.run("docker", "run", "--rm", *CAREFUL, INIT, *agent)
    assert (done.returncode, done.stderr) == (2, "usage: python -m launcher.files serve DIRECTORY | hold\n")
