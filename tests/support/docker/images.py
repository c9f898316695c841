"""The project's images where no registry answers: a base, the launcher on it, and with a stand-in for Paddle.

Built once for the same sources and kept as a tar, which any container runtime takes:
`ctr --namespace k8s.io images import TAR`, `docker load --input TAR`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.docker.base import base_tar
from tests.support.docker.daemon import Docker, running
from tests.support.docker.machine import alone, cache

ROOT = Path(__file__).parents[3]
BASE = "stand-in-base:bookworm"
LAUNCHER = "paddle-launcher:test"
STAND_IN = "paddle-launcher:stand-in"
SOURCES = (
    "docker/Dockerfile",
    "docker/.dockerignore",
    "docker/*.sh",
    "docker/start_paddle.py",
    "examples/stand_in/*",
    "launcher/**/*.py",
    "requirements.lock",
    "setup.cfg",
    "pyproject.toml",
    "tools/build_docker.sh",
    "tests/support/docker/images.py",
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
    """Return a tar with all three images; made in about a minute where the sources are new."""
    tar = cache() / f"images-{digest()}.tar"
    with alone("images"):
        if not tar.exists():
            with running() as docker:
                build(docker)
                part = tar.with_suffix(".part")
                docker.says("save", "--output", str(part), BASE, LAUNCHER, STAND_IN, timeout=300)
                part.rename(tar)
            _forget_old()
        tar.touch()
    return tar


def digest() -> str:
    """Return what differs whenever an image would."""
    content = hashlib.sha256(base_tar().name.encode())
    for path in _sources():
        content.update(f"{path.relative_to(ROOT)} {path.stat().st_mode:o} {path.stat().st_size}\n".encode())
        content.update(path.read_bytes())
    return content.hexdigest()[:16]


def build(docker: Docker) -> None:
    """Build all three from nothing, the launcher's as anybody would."""
    import_base(docker)
    words = (str(ROOT / "tools" / "build_docker.sh"), "--network", "host", BASE, LAUNCHER)
    done = docker.run(*words, timeout=600)
    assert done.returncode == 0, f"build_docker.sh ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    with tempfile.TemporaryDirectory() as context:
        ours = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(ROOT / "examples" / "stand_in", context, ignore=ours, dirs_exist_ok=True)
        docker.build(STAND_IN, Path(context), dockerfile=WITH_STAND_IN.format(launcher=LAUNCHER))


def import_base(docker: Docker) -> None:
    """Make an image of the base, and of what this machine holds to be a trusted certificate: pip needs that."""
    bare = docker.says("import", str(base_tar()), "stand-in-base:bare", timeout=300)
    assert bare.startswith("sha256:")
    docker.build(BASE, CA_BUNDLE.parent, dockerfile=BUNDLED.format(base="stand-in-base:bare"))


def load(docker: Docker) -> None:
    """Give the daemon all three."""
    docker.says("load", "--input", str(image_tar()), timeout=300)


def _sources() -> Iterator[Path]:
    found = {path for pattern in SOURCES for path in ROOT.glob(pattern)}
    return iter(sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts))


def _forget_old() -> None:
    tars = sorted(cache().glob("images-*.tar"), key=os.path.getmtime, reverse=True)
    for tar in tars[KEPT:]:
        tar.unlink(missing_ok=True)
