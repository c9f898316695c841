"""A user of the desk on a real cluster who has a volume, for tests and benchmarks that copy files."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from tests.cluster.kubectl import Kubectl
from tests.cluster.volumes import Volume
from tests.grounds.docker.images import STAND_IN
from tests.support.desks import CLAIM, User, shipped

HOME = "/pfs/datacenter1/home/me"
# The last branch of a program by its role: a pserver answers at its port until it is told to end.
SERVES = """\
else:
    import os, signal, socket, sys
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with socket.create_server(("", int(os.environ["PADDLE_PORT"]))) as door:
        while True:
            door.accept()[0].close()
"""


def put_package(volume: Volume, name: str, files: Mapping[str, str]) -> Path:
    """Put a package on the volume that the claim `mfs` has, for programs of any user."""
    made = volume.path / name
    made.mkdir()
    for file, text in files.items():
        (made / file).write_text(text)
    volume.path.chmod(0o777)
    return made


def user_of(namespace: Kubectl, place: Path) -> User:
    """Return a user with the shipped Role in a namespace where the claim `mfs` has a volume."""
    namespace("create", "serviceaccount", "desk")
    namespace.apply(CLAIM, *shipped())
    token = namespace("create", "token", "desk").strip()
    cluster = yaml.safe_load(namespace.kubeconfig.read_text())["clusters"][0]["cluster"]
    ca = place / "ca.crt"
    ca.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    made = User(home=place / "home", namespace=namespace.namespace)
    made.configure(
        username="me", password=token, endpoint=cluster["server"], namespace=namespace.namespace, image=STAND_IN,
        volume={"claim": "mfs"}, **{"certificate-authority": str(ca)},
    )  # fmt: skip
    return made
