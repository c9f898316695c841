"""tools/build_docker.sh and `docker build` as the seeds type them, and what they say where it cannot be."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.grounds.docker import BASE, Docker, NotHere, need
from tests.grounds.docker.images import ROOT
from tests.support.mounts import mounted

# A first run makes the base and the images; every build here installs the launcher's packages once more at worst.
pytestmark = pytest.mark.timeout(900)

TOOL = ROOT / "tools" / "build_docker.sh"
NAMES = (BASE, "your-registry/paddle:built")
NO_PYTHON = f"FROM {BASE}\nRUN rm /usr/bin/python*\n"
PACKAGE = {"train.py": "print('trained')\n", "data/part": "1,2\n", "with space": "x"}


def said(*words: str, tool: Path = TOOL, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the tool without a daemon."""
    env = {**os.environ, "DOCKER_HOST": "unix:///nowhere/docker.sock", **environ}
    return subprocess.run((str(tool), *words), env=env, capture_output=True, text=True, timeout=60, check=False)


def built(docker: Docker, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return docker.run(str(TOOL), "--network", "host", *words, timeout=600, **environ)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Give a training package."""
    for name, text in PACKAGE.items():
        path = tmp_path / "example" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "example"


def halves(docker: Docker) -> str:
    return docker.says("images", "--quiet", "paddle-launcher-half")


def test_two_arguments_put_the_launcher_on_a_base(docker: Docker) -> None:
    done = built(docker, *NAMES)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith(f"{NAMES[1]} is built (")
    assert docker.says("run", "--rm", "--network", "none", NAMES[1], "start_paddle", "--version")
    assert not halves(docker)


def test_four_arguments_add_a_package_where_they_say(docker: Docker, package: Path) -> None:
    done = built(docker, f"{package}/", "/example/word2vec", *NAMES)
    assert done.returncode == 0, done.stderr
    run = ("run", "--rm", "--network", "none", NAMES[1])
    listed = docker.says(*run, "sh", "-c", "cd /example/word2vec && find . -type f")
    assert sorted(listed.splitlines()) == sorted(f"./{name}" for name in PACKAGE)
    init = "LAUNCHER_PEERS=self start_paddle -- python /example/word2vec/train.py"
    assert docker.says(*run, "bin/bash", "-c", init) == "trained"
    assert not halves(docker)


def test_docker_build_inside_docker_says_what_to_type_and_then_works(docker: Docker, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    for name in ("docker", "tools", "launcher", "examples"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__", "jobs"))
    for path in (checkout / "docker" / "dist").iterdir():
        if path.name != ".gitignore":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "requirements.lock", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    typed = f"docker build --network host --target launcher --build-arg BASE={BASE} --tag your_repo/paddle:mypaddle ."
    in_docker = ("env", "-C", str(checkout / "docker"))
    first = docker.run(*in_docker, *typed.split(), timeout=600)
    assert first.returncode != 0
    assert "docker/dist is empty: type ../tools/build_docker.sh --prepare" in first.stdout + first.stderr
    assert docker.run(*in_docker, "../tools/build_docker.sh", "--prepare").returncode == 0
    second = docker.run(*in_docker, *typed.split(), timeout=600)
    assert second.returncode == 0, second.stdout + second.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "0 arguments: expected 2, a base image and a runtime image, or 4"),
        (("a", "b", "c"), "3 arguments: expected 2, a base image and a runtime image, or 4"),
        (("--netwrk", "host", *NAMES), "--netwrk is no option of this program: expected --network NAME"),
        (("--network",), "--network: expected a name after it, such as host"),
        (("--target",), "--target: expected launcher, launcher-init, data, paddle or quickstart after it"),
        (
            ("--target=padle", *NAMES),
            "--target: expected launcher, launcher-init, data, paddle or quickstart after it",
        ),
        (("paddle", "Your_Repo/Paddle"), "the runtime image is called 'Your_Repo/Paddle': expected a name such as"),
        (("", "paddle"), "the base image is called '': expected a name such as"),
        (("paddle", "--push"), "the runtime image is called '--push': expected a name such as"),
        (("HERE/nowhere", "/example", *NAMES), "HERE/nowhere' is not there: expected a directory of this machine"),
        (("HERE/train.py", "/example", *NAMES), "HERE/train.py' is no directory: name the one that it lies in"),
        (("HERE/empty", "/example", *NAMES), "HERE/empty' is empty: expected the files of a training program"),
        (("", "/example", *NAMES), "the source package '' is not there"),
        (("HERE", "example", *NAMES), "'example' is not absolute: expected a path in the image that begins with /"),
        (("HERE", "/a b", *NAMES), "the destination '/a b': expected a path of letters, digits and ._-/"),
        (("HERE", "/a/../etc", *NAMES), "the destination '/a/../etc': expected a path without . and .. in it"),
        (
            ("HERE", "/", *NAMES),
            "the destination '/' belongs to the image itself: expected a directory of the package's",
        ),
        (("HERE", "/usr/", *NAMES), "the destination '/usr/' belongs to the image itself"),
    ],
)
def test_arguments_that_cannot_be_right(package: Path, words: tuple[str, ...], sentence: str) -> None:
    (package / "empty").mkdir()
    done = said(*(word.replace("HERE", str(package)) for word in words))
    assert done.returncode == 2
    assert done.stderr.startswith("build_docker.sh: ")
    assert sentence.replace("HERE", str(package)) in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_has_examples() -> None:
    done = said("--help")
    assert done.returncode == 0
    assert "tools/build_docker.sh ./example/ /example paddlepaddle/paddle" in done.stdout


def tools_but_docker(top: Path) -> Path:
    top.mkdir()
    for name in ("bash", "env", "dirname", "awk", "tar", "cp", "mkdir", "rm", "mktemp", "tee", "grep", "ls", "cat"):
        (top / name).symlink_to(str(shutil.which(name)))
    return top


def test_without_docker(tmp_path: Path) -> None:
    done = said(*NAMES, PATH=str(tools_but_docker(tmp_path / "bin")))
    assert done.returncode == 1
    assert "docker is not on PATH: install it (on Debian: apt-get install docker.io)" in done.stderr


def test_without_a_daemon(docker: Docker) -> None:  # noqa: ARG001  # it has the client installed
    done = said(*NAMES)
    assert done.returncode == 1
    assert "the Docker daemon does not answer (" in done.stderr
    assert "systemctl start docker" in done.stderr


def test_a_base_that_is_nowhere(docker: Docker) -> None:
    done = built(docker, "127.0.0.1:1/none:1", "paddle")
    assert done.returncode == 1
    assert "the base image '127.0.0.1:1/none:1' is not on this machine and cannot be pulled (" in done.stderr
    assert "docker login" in done.stderr


def test_a_base_without_python(docker: Docker, tmp_path: Path) -> None:
    docker.build("without-python", tmp_path, dockerfile=NO_PYTHON)
    done = built(docker, "without-python", "paddle:none")
    assert done.returncode == 1
    assert "the image BASE has no Python 3.11 or newer with its venv module" in done.stderr
    assert not halves(docker)
    assert not docker.says("images", "--quiet", "paddle:none")


def test_no_room_for_the_context(docker: Docker, tmp_path: Path) -> None:
    with mounted("tmpfs", "none", tmp_path, "size=16k"):
        done = built(docker, BASE, "paddle", TMPDIR=str(tmp_path))
        left = list(tmp_path.iterdir())
    assert done.returncode == 1
    assert f"to {tmp_path}" in done.stderr
    assert "room" in done.stderr
    assert not left


def test_a_daemon_whose_disk_is_full(tmp_path: Path) -> None:
    """A daemon on a full disk answers as this one does."""
    bin_dir = tools_but_docker(tmp_path / "bin")
    (bin_dir / "docker").write_text(
        '#!/bin/bash\n[ "$1" = build ] || exit 0\necho "/var/lib/docker/x: no space left on device" >&2\nexit 1\n'
    )
    (bin_dir / "docker").chmod(0o755)
    done = said(*NAMES, PATH=str(bin_dir))
    assert done.returncode == 1
    assert "the disk is full: docker system df tells what Docker keeps" in done.stderr


def test_shellcheck_finds_nothing() -> None:
    try:
        need(shellcheck="shellcheck")
    except NotHere as error:
        pytest.skip(f"no shellcheck here: {error}")
    scripts = (TOOL, *sorted((ROOT / "docker").glob("*.sh")))
    done = subprocess.run(("shellcheck", *map(str, scripts)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
