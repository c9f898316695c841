"""A user at a desk: a home directory with a configuration, and `paddlectl` as it is typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from tests.grounds.api.control_plane import ControlPlane
from tests.support.manifests import K8S

CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "mfs"},
    "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
}

# What a laptop has besides, and how what is started here is measured.
KEPT = ("PATH", "LANG")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """The columns of its output."""
        return [line.split("\t") for line in self.out.splitlines()]


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Somebody with a home directory."""

    home: Path
    namespace: str = ""

    def __call__(self, *words: str, stdin: str = "", timeout: float = 60, **environ: str) -> Said:
        """Type a command, and return what came of it."""
        done = subprocess.run(
            self.words(*words), input=stdin, env=self.environ(**environ), capture_output=True, text=True,
            timeout=timeout, check=False,
        )  # fmt: skip
        return Said(code=done.returncode, out=done.stdout, err=done.stderr)

    @contextmanager
    def started(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """Type a command that goes on; it is ended with the body at the latest."""
        with subprocess.Popen(
            self.words(*words), env=self.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def words(self, *words: str) -> tuple[str, ...]:
        """Return the command as it is started."""
        return (sys.executable, "-m", "launcher.desk", *words)

    def environ(self, **more: str) -> dict[str, str]:
        """Return the variables of the user's shell."""
        kept = {name: text for name, text in os.environ.items() if name in KEPT or name.startswith("COVERAGE")}
        return {**kept, "HOME": str(self.home), "PYTHONFAULTHANDLER": "1", **more}

    def without(self, *names: str) -> tuple[str, str]:
        """Return the flag for a configuration like the user's, in which the datacenter lacks something."""
        return self.saying(**dict.fromkeys(names))

    def saying(self, **changed: object) -> tuple[str, str]:
        """Return the flag for a configuration like the user's, in which the datacenter says something else."""
        whole = json.loads((self.home / ".paddle" / "config").read_text())
        whole["datacenters"][0].update(changed)
        path = self.home / f"saying-{'-'.join(changed)}"
        path.write_text(json.dumps(whole))
        path.chmod(0o600)
        return ("-config", str(path))

    def configure(self, **datacenter: object) -> None:
        """Write the configuration, of one datacenter."""
        whole = {"datacenters": [{"name": "datacenter1", **datacenter}], "current-datacenter": "datacenter1"}
        path = self.home / ".paddle" / "config"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(whole))  # which is YAML
        path.chmod(0o600)


def user(plane: ControlPlane, home: Path, namespace: str, **datacenter: object) -> User:
    """Return a user with a namespace of this name, a volume, and the Role that is shipped."""
    plane.new_namespace(namespace)
    plane.make(namespace, {"kind": "ServiceAccount", "metadata": {"name": "desk"}}, CLAIM, *shipped())
    wanted = f"/api/v1/namespaces/{namespace}/serviceaccounts/desk/token"
    token = str(plane.ask("POST", wanted, {"spec": {}})["status"]["token"])
    made = User(home=home, namespace=namespace)
    said: dict[str, Any] = {
        "username": "me",
        "password": token,
        "endpoint": plane.server,
        "certificate-authority": str(plane.ca),
        "namespace": namespace,
        "image": "repo/paddle:2.6.2",
        "volume": {"claim": "mfs"},
    }
    made.configure(**said | datacenter)
    return made


def shipped() -> list[dict[str, Any]]:
    """Return the Role and its binding."""
    return [yaml.safe_load(path.read_text()) for path in sorted((K8S / "rbac" / "desk").glob("*.yaml"))]
