"""The project's images where no registry answers: a base, the launcher on it, and with a stand-in or with Paddle.

Built once for the same sources and kept as tars, which any container runtime takes:
`ctr --namespace k8s.io images import TAR`, `docker load --input TAR`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.grounds.docker.base import base_tar
from tests.grounds.docker.daemon import Docker, running
from tests.grounds.docker.machine import alone, cache, room

ROOT = Path(__file__).parents[3]
BASE = "stand-in-base:bookworm"
LAUNCHER = "paddle-launcher:test"
INIT = "paddle-launcher:init"
DATA = "paddle-launcher:data"
STAND_IN = "paddle-launcher:stand-in"
PADDLE = "paddle-launcher:paddle"
QUICKSTART = "mypaddle/paddle:quickstart"
SOURCES = (
    "docker/*Dockerfile",
    "docker/.dockerignore",
    "docker/*.lock",
    "docker/*.sh",
    "docker/*.py",
    "docker/*.c",
    "launcher/**/*",
    "requirements.lock",
    "setup.cfg",
    "setup.py",
    "examples/recommendation/*",
    "examples/stand_in/*",
    "pyproject.toml",
    "tools/build_docker.sh",
    "tests/grounds/docker/images.py",
)
KEPT = 3  # tars of earlier sources
CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
BUNDLED = """\
FROM {base}
COPY ca-certificates.crt /etc/ssl/certs/
RUN printf '[global]\\ncert = /etc/ssl/certs/ca-certificates.crt\\n' > /etc/pip.conf
CMD ["bash"]
"""
WITH_STAND_IN = """\
FROM {launcher}
COPY . /opt/stand_in
RUN ln -s /opt/stand_in/paddle /usr/local/bin/paddle
"""


def image_tar() -> Path:
    """Return a tar with the base, the launcher's image and the stand-in's; made in about a minute for new sources."""
    _make_missing(PLAIN)
    return PLAIN.tar


def paddle_tar() -> Path:
    """Return a tar with both images that have Paddle; made in about two minutes, the other one with it."""
    _make_missing(PLAIN, TRAINING)
    return TRAINING.tar


def build(docker: Docker) -> None:
    """Build base, launcher, init, data and stand-in from nothing, the launcher's three as anybody would."""
    import_base(docker)
    _build_as_anybody(docker, "launcher", LAUNCHER)
    _build_as_anybody(docker, "launcher-init", INIT)
    _build_as_anybody(docker, "data", DATA)
    with tempfile.TemporaryDirectory() as context:
        ours = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(ROOT / "examples" / "stand_in", context, ignore=ours, dirs_exist_ok=True)
        docker.build(STAND_IN, Path(context), dockerfile=WITH_STAND_IN.format(launcher=LAUNCHER))


def build_with_paddle(docker: Docker) -> None:
    """Build both that have Paddle, on the base."""
    room(cache(), 5e9)
    if not docker.says("images", "--quiet", BASE):
        import_base(docker)
    _build_as_anybody(docker, "paddle", PADDLE)
    _build_as_anybody(docker, "quickstart", QUICKSTART)


def import_base(docker: Docker) -> None:
    """Make an image of the base, and of what this machine holds to be a trusted certificate: pip needs that."""
    bare = docker.says("import", str(base_tar()), "stand-in-base:bare", timeout=300)
    assert bare.startswith("sha256:")
    docker.build(BASE, CA_BUNDLE.parent, dockerfile=BUNDLED.format(base="stand-in-base:bare"))


def load(docker: Docker, tar: Callable[[], Path] = image_tar) -> None:
    """Give the daemon what is in a tar."""
    docker.says("load", "--input", str(tar()), timeout=300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Images that are built together and kept in one tar, whose name has what they are made of."""

    name: str
    images: tuple[str, ...]
    sources: tuple[str, ...]
    build: Callable[[Docker], None]

    @property
    def tar(self) -> Path:
        """Where the tar is, or would be."""
        content = hashlib.sha256(base_tar().name.encode())
        found = {path for pattern in self.sources for path in ROOT.glob(pattern)}
        for path in sorted(path for path in found if path.is_file() and not _is_a_cache(path)):
            content.update(f"{path.relative_to(ROOT)} {path.stat().st_mode:o} {path.stat().st_size}\n".encode())
            content.update(path.read_bytes())
        return cache() / f"{self.name}-{content.hexdigest()[:16]}.tar"


PLAIN = Kept(name="images", images=(BASE, LAUNCHER, INIT, DATA, STAND_IN), sources=SOURCES, build=build)
TRAINING = Kept(
    name="training",
    images=(PADDLE, QUICKSTART),
    sources=(*SOURCES, "examples/quick_start/*", "examples/quick_start/data/*.sh"),
    build=build_with_paddle,
)


def _make_missing(*wanted: Kept) -> None:
    """Make the tars that are not there, in one daemon, which builds once what they share."""
    with alone("images"):
        missing = [kept for kept in wanted if not kept.tar.exists()]
        if missing:
            with running() as docker:
                for kept in missing:
                    _make(docker, kept)
        for kept in wanted:
            kept.tar.touch()


def _make(docker: Docker, kept: Kept) -> None:
    kept.build(docker)
    part = kept.tar.with_suffix(".part")
    docker.says("save", "--output", str(part), *kept.images, timeout=300)
    part.rename(kept.tar)
    tars = sorted(cache().glob(f"{kept.name}-*.tar"), key=os.path.getmtime, reverse=True)
    for tar in tars[KEPT:]:
        tar.unlink(missing_ok=True)


def _build_as_anybody(docker: Docker, target: str, image: str) -> None:
    words = (str(ROOT / "tools" / "build_docker.sh"), "--target", target, "--network", "host", BASE, image)
    done = docker.run(*words, timeout=600)
    assert done.returncode == 0, f"build_docker.sh ended with {done.returncode}:\n{done.stdout}{done.stderr}"


def _is_a_cache(path: Path) -> bool:
    return any(part == "__pycache__" or part.startswith(".") for part in path.relative_to(ROOT).parts[1:-1])
